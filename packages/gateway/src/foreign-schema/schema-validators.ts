// Values against foreign JSON Schemas. A schema is compiled once, however often its text comes again,
// and the latest used are kept: an agent that changes its schemas takes no more room than another.

import { createHash } from 'node:crypto';
import type { Log } from '@starloom/core';
import { type CompiledSchema, compileSchema } from './compile-schema.ts';
import type { SchemaFields } from './schema-fields.ts';
import { SchemaProblem } from './schema-problem.ts';
import { sizeOf } from './size-of.ts';
import { type Problem, TooMuchWork, Validation } from './validation.ts';

const MAX_KEPT = 1_024;
const MAX_CHARACTERS = 262_144;
const MAX_SHOWN = 5;

/** A value that is too much work at this size is not the fault of its sender. */
const SMALL = 1_000;

type Compiled = CompiledSchema | SchemaProblem;

export interface SchemaValidatorsOptions {
  readonly log?: Log | undefined;
  readonly maxKept?: number;
}

export class SchemaValidators {
  readonly #log: Log | undefined;
  readonly #maxKept: number;
  /** For as long as the schema itself is in use. */
  readonly #known = new WeakMap<object, Compiled>();
  /** By digest, the latest used last. */
  readonly #kept = new Map<string, Compiled>();

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
    const compiled = this.#known.get(schema) ?? this.#find(schema);
    if (compiled instanceof SchemaProblem) throw compiled;
    const validation = new Validation();
    try {
      if (compiled.check(value, validation, undefined)) return [];
    } catch (error) {
      if (!(error instanceof TooMuchWork || error instanceof RangeError)) throw error;
      if (sizeOf(value) < SMALL)
        throw new SchemaProblem('to check a value against it takes too long');
      return [`${root} take too long to check against the schema: send less, or nest it less`];
    }
    return validation.problems.slice(0, MAX_SHOWN).map((problem) => toText(problem, root));
  }

  #find(schema: SchemaFields): Compiled {
    const digest = createHash('sha256').update(toJson(schema)).digest('base64');
    const kept = this.#kept.get(digest);
    if (kept) this.#kept.delete(digest);
    const compiled = kept ?? this.#compile(schema);
    this.#kept.set(digest, compiled);
    this.#known.set(schema, compiled);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#maxKept) break;
      this.#kept.delete(oldest);
    }
    return compiled;
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

function toText({ path, message }: Problem, root: string): string {
  return `${path.length === 0 ? root : path.toReversed().join('.')} ${message}`;
}
