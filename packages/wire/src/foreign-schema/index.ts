export { SchemaProblem } from './schema-fields.ts';
export { SchemaValidators } from './schema-validators.ts';
