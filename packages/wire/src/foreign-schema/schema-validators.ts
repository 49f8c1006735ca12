// Values against foreign JSON Schemas, each compiled when it is first used.

import {
  type Compiled,
  type CompiledSchema,
  KeptSchemas,
  type KeptSchemasOptions,
} from './compile-schema.ts';
import { type SchemaFields, SchemaProblem } from './schema-fields.ts';
import { MAX_WORK, type Problem, sizeOf, TooMuchWork, Validation } from './validation.ts';

const MAX_SHOWN = 5;

/** Enough for nearly everything; a value that needs more must be large, or its schema is at fault. */
const SMALL_WORK = 100_000;
const SMALL_SIZE = 5_000;

export class SchemaValidators {
  /** For as long as the schema itself is in use. */
  readonly #known = new WeakMap<object, Compiled>();
  readonly #kept: KeptSchemas;

  constructor(options: KeptSchemasOptions = {}) {
    this.#kept = new KeptSchemas(options);
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
    if (!found) {
      return [`${root} take too long to check against the schema: send less, or nest it less`];
    }
    return found.slice(0, MAX_SHOWN).map((problem) => toText(problem, root));
  }

  /** SchemaProblem for a schema that cannot be used. */
  assertUsable(schema: SchemaFields): void {
    this.#usable(schema);
  }

  #usable(schema: SchemaFields): CompiledSchema {
    const compiled = this.#known.get(schema) ?? this.#compile(schema);
    if (compiled instanceof SchemaProblem) throw compiled;
    return compiled;
  }

  #compile(schema: SchemaFields): Compiled {
    const compiled = this.#kept.find(schema);
    this.#known.set(schema, compiled);
    return compiled;
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

function toText({ path, message }: Problem, root: string): string {
  return `${path.length === 0 ? root : path.toReversed().join('.')} ${message}`;
}
