// Values against foreign JSON Schemas. A schema is compiled once, however often its text comes again,
// and the latest used are kept: an agent that changes its schemas takes no more room than another.

import { createHash } from 'node:crypto';
import type { Log } from '@starloom/core';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';
import {
  MAX_WORK,
  type Problem,
  type SchemaFields,
  SchemaProblem,
  sizeOf,
  TooMuchWork,
  Validation,
} from './validation.ts';

const MAX_KEPT = 1_024;
/** Of all schemas whose compiled form is kept; that takes some forty times as many bytes. */
const MAX_KEPT_CHARACTERS = 524_288;
const MAX_CHARACTERS = 262_144;
const MAX_SHOWN = 5;

/** Enough for nearly everything; a value that needs more must be large, or its schema is at fault. */
const SMALL_WORK = 100_000;
const SMALL_SIZE = 5_000;

type Compiled = CompiledSchema | SchemaProblem;

interface Kept {
  readonly compiled: Compiled;
  readonly characters: number;
}

interface SchemaValidatorsOptions {
  readonly log?: Log | undefined;
  readonly maxKept?: number;
}

export class SchemaValidators {
  readonly #log: Log | undefined;
  readonly #maxKept: number;
  /** For as long as the schema itself is in use. */
  readonly #known = new WeakMap<object, Compiled>();
  /** By digest, the latest used last. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

  constructor({ log, maxKept = MAX_KEPT }: SchemaValidatorsOptions = {}) {
    this.#log = log;
    this.#maxKept = maxKept;
  }

  get size(): number {
    return this.#kept.size;
  }

  /**
   * What is wrong with `value`, at most five problems; none when it fits. Throws SchemaProblem for a
   * schema that cannot be used.
   */
  problems(schema: SchemaFields, value: unknown, root: string): string[] {
    const compiled = this.#usable(schema);
    const isLarge = sizeOf(value, SMALL_SIZE) >= SMALL_SIZE;
    const found = check(compiled, value, isLarge ? MAX_WORK : SMALL_WORK);
    if (!found && !isLarge) throw new SchemaProblem('to check a value against it takes too long');
    if (!found)
      return [`${root} take too long to check against the schema: send less, or nest it less`];
    return found.slice(0, MAX_SHOWN).map((problem) => toText(problem, root));
  }

  /** SchemaProblem for a schema that cannot be used. */
  assertUsable(schema: SchemaFields): void {
    this.#usable(schema);
  }

  #usable(schema: SchemaFields): CompiledSchema {
    const compiled = this.#known.get(schema) ?? this.#find(schema);
    if (compiled instanceof SchemaProblem) throw compiled;
    return compiled;
  }

  #find(schema: SchemaFields): Compiled {
    const json = toJson(schema);
    const digest = createHash('sha256').update(json).digest('base64');
    const compiled = this.#forget(digest)?.compiled ?? this.#compile(schema);
    this.#kept.set(digest, { compiled, characters: json.length });
    this.#characters += json.length;
    this.#known.set(schema, compiled);
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

/** What is wrong, or `undefined` when that takes more than so much work. */
function check(
  compiled: CompiledSchema,
  value: unknown,
  work: number,
): readonly Problem[] | undefined {
  const validation = new Validation(work);
  try {
    return compiled.check(value, validation, undefined) ? [] : validation.problems;
  } catch (error) {
    if (error instanceof TooMuchWork || error instanceof RangeError) return undefined;
    throw error;
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

function toText({ path, message }: Problem, root: string): string {
  return `${path.length === 0 ? root : path.toReversed().join('.')} ${message}`;
}
