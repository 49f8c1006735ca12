import type { SchemaFields } from './schema-fields.ts';
import type { Check, Validation } from './validation.ts';

/** What a keyword needs of the compiler: the schemas and patterns it applies, as checks. */
export interface Compiler {
  schema(keyword: string, schema: unknown): Check;
  schemas(keyword: string, schemas: unknown): Check[];
  reference(reference: unknown, from: SchemaFields): Check;
  pattern(source: unknown): PatternTest;
}

/** `undefined`: cannot be decided here. */
export type PatternTest = (text: string, validation: Validation) => boolean | undefined;
