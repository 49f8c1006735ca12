export { SchemaValidators } from './schema-validators.ts';
export { SchemaProblem } from './validation.ts';
