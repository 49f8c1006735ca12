// A foreign JSON Schema (2020-12, and what older drafts write differently) as a check. Nothing is
// generated, fetched or registered: compiling takes time linear in the schema, and two schemas never
// meet, whatever they call themselves. Only what can be reached from the root is looked at.

import { createHash } from 'node:crypto';
import type { Log } from '@starloom/core';
import {
  allOfCheck,
  anyOfCheck,
  constCheck,
  enumCheck,
  ifCheck,
  notCheck,
  oneOfCheck,
  referenceCheck,
  typeChecks,
} from './any-keywords.ts';
import { arrayChecks, unevaluatedItemsCheck } from './array-keywords.ts';
import { expandedSize, type LinearPattern, toLinearPattern } from './linear-pattern.ts';
import { objectChecks, unevaluatedPropertiesCheck } from './object-keywords.ts';
import { numberChecks, stringChecks } from './plain-keywords.ts';
import { References } from './references.ts';
import {
  type Compiler,
  fieldsOf,
  listOf,
  type PatternTest,
  type SchemaFields,
  SchemaProblem,
} from './schema-fields.ts';
import { type ByType, type Check, checkByType, type Seen } from './validation.ts';

export interface CompiledSchema {
  readonly check: Check;
  /** Patterns that are left to the agent. */
  readonly undecided: readonly string[];
}

const MAX_SCHEMAS = 5_000;
const MAX_DEPTH = 128;
/** Of all patterns together, as compiled. */
const MAX_PATTERN_SIZE = 10_000;

/** Throws SchemaProblem for a schema that cannot be used. */
function compileSchema(schema: SchemaFields): CompiledSchema {
  const compiler = new SchemaCompiler(schema);
  const check = compiler.root();
  return { check, undecided: compiler.undecided };
}

class SchemaCompiler implements Compiler {
  readonly undecided: string[] = [];
  readonly #schema: SchemaFields;
  #references: References | undefined;
  readonly #known = new Map<object, Check>();
  /** Found by reference, compiled when the schema around them is done. */
  readonly #pending: SchemaFields[] = [];
  readonly #patterns = new Map<string, LinearPattern | undefined>();
  #patternSize = 0;
  #schemas = 0;
  #depth = 0;

  constructor(schema: SchemaFields) {
    this.#schema = schema;
  }

  root(): Check {
    const check = this.#compile(this.#schema);
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) this.#compile(next);
    return check;
  }

  schema(keyword: string, schema: unknown): Check {
    if (schema === true) return always;
    if (schema === false) return never;
    return this.#compile(fieldsOf(keyword, schema));
  }

  schemas(keyword: string, schemas: unknown): Check[] {
    return listOf(keyword, schemas).map((schema) => this.schema(keyword, schema));
  }

  reference(reference: unknown, from: SchemaFields): Check {
    if (typeof reference !== 'string') throw new SchemaProblem('"$ref" must be a string');
    this.#references ??= new References(this.#schema);
    const target = this.#references.find(reference, from);
    if (typeof target === 'boolean') return target ? always : never;
    if (!this.#known.has(target)) this.#pending.push(target);
    let check: Check | undefined;
    return (value, validation, seen) => {
      check ??= this.#known.get(target) ?? never;
      return validation.follow(check, value, seen);
    };
  }

  pattern(source: unknown): PatternTest {
    if (typeof source !== 'string') throw new SchemaProblem('a pattern must be a string');
    const pattern = this.#linear(source);
    return (text, validation) => {
      if (pattern) {
        validation.spend(1 + text.length * pattern.cost);
        return pattern.test(text);
      }
      validation.undecided += 1;
      return undefined;
    };
  }

  #linear(source: string): LinearPattern | undefined {
    if (this.#patterns.has(source)) return this.#patterns.get(source);
    if (this.#patternSize + expandedSize(source) > MAX_PATTERN_SIZE) {
      throw new SchemaProblem('its patterns are too large');
    }
    const pattern = toLinearPattern(source);
    this.#patterns.set(source, pattern);
    this.#patternSize += pattern?.size ?? source.length;
    if (!pattern) this.undecided.push(source);
    return pattern;
  }

  #compile(schema: SchemaFields): Check {
    const known = this.#known.get(schema);
    if (known) return known;
    this.#schemas += 1;
    if (this.#schemas > MAX_SCHEMAS) throw new SchemaProblem('it has too many parts');
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new SchemaProblem('it is nested too deep');
    const check = this.#toCheck(schema);
    this.#depth -= 1;
    this.#known.set(schema, check);
    return check;
  }

  #toCheck(schema: SchemaFields): Check {
    const typed: Partial<Record<string, Check[]>> = {
      number: numberChecks(schema),
      string: stringChecks(schema, this),
      array: arrayChecks(schema, this),
      object: objectChecks(schema, this),
    };
    const values = [enumCheck(schema), constCheck(schema)];
    const applied = [
      referenceCheck(schema, this),
      allOfCheck(schema, this),
      anyOfCheck(schema, this),
      oneOfCheck(schema, this),
      notCheck(schema, this),
      ifCheck(schema, this),
    ];
    const unevaluated = present([
      unevaluatedItemsCheck(schema, this),
      unevaluatedPropertiesCheck(schema, this),
    ]);
    const byType: Partial<Record<string, Check[]>> = Object.fromEntries(
      Object.entries(typeChecks(schema)).map(([type, check]) => [
        type,
        present([check, ...values, ...(typed[type] ?? []), ...applied, ...unevaluated]),
      ]),
    );
    return unevaluated.length > 0 ? seeing(byType) : checkByType(byType);
  }
}

const always: Check = () => true;
const never: Check = (_, validation) => validation.fail('is not allowed');

/** For a schema that asks what its own keywords have judged. */
function seeing(byType: ByType): Check {
  const check = checkByType(byType);
  return (value, validation, outer) => {
    const seen: Seen = new Set();
    const isValid = check(value, validation, seen);
    if (outer) for (const key of seen) outer.add(key);
    return isValid;
  };
}

function present(checks: readonly (Check | undefined)[]): Check[] {
  return checks.filter((check) => check !== undefined);
}

const MAX_KEPT = 1_024;
/** Of all schemas whose compiled form is kept; that takes some forty times as many bytes. */
const MAX_KEPT_CHARACTERS = 524_288;
const MAX_CHARACTERS = 262_144;
const MAX_SHOWN = 5;

export type Compiled = CompiledSchema | SchemaProblem;

interface Kept {
  readonly compiled: Compiled;
  readonly characters: number;
}

export interface KeptSchemasOptions {
  readonly log?: Log | undefined;
  readonly maxKept?: number;
}

/**
 * A schema is compiled once, however often its text comes again, and the latest used are kept: an agent that
 * changes its schemas takes no more room than another.
 */
export class KeptSchemas {
  readonly #log: Log | undefined;
  readonly #maxKept: number;
  /** By digest, the latest used last. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

  constructor({ log, maxKept = MAX_KEPT }: KeptSchemasOptions) {
    this.#log = log;
    this.#maxKept = maxKept;
  }

  get size(): number {
    return this.#kept.size;
  }

  find(schema: SchemaFields): Compiled {
    const json = toJson(schema);
    const digest = createHash('sha256').update(json).digest('base64');
    const compiled = this.#forget(digest)?.compiled ?? this.#compile(schema);
    this.#kept.set(digest, { compiled, characters: json.length });
    this.#characters += json.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#maxKept && this.#characters <= MAX_KEPT_CHARACTERS) break;
      this.#forget(oldest);
    }
    return compiled;
  }

  #forget(digest: string): Kept | undefined {
    const kept = this.#kept.get(digest);
    if (!kept) return undefined;
    this.#kept.delete(digest);
    this.#characters -= kept.characters;
    return kept;
  }

  /** What cannot be used is kept as well, and not tried again. */
  #compile(schema: SchemaFields): Compiled {
    try {
      const compiled = compileSchema(schema);
      if (compiled.undecided.length > 0) {
        const patterns = compiled.undecided.slice(0, MAX_SHOWN);
        this.#log?.warn({ patterns }, 'patterns of a schema are not checked: left to the agent');
      }
      return compiled;
    } catch (error) {
      if (error instanceof SchemaProblem) return error;
      throw error;
    }
  }
}

function toJson(schema: SchemaFields): string {
  let json: string;
  try {
    json = JSON.stringify(schema);
  } catch (cause) {
    throw new SchemaProblem('it is nested too deep', { cause });
  }
  if (json.length <= MAX_CHARACTERS) return json;
  throw new SchemaProblem('it is too large');
}
