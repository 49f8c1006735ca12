export { SchemaValidators } from './compile-schema.ts';
export { SchemaProblem } from './validation.ts';
