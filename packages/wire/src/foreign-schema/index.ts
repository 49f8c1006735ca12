export { SchemaProblem } from './schema-problem.ts';
export { SchemaValidators, type SchemaValidatorsOptions } from './schema-validators.ts';
