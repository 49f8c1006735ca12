export { type KeyPath, toKey } from './key-path.ts';
export {
  type ConfigPart,
  type FlagOverride,
  type LoadedConfig,
  loadConfig,
} from './load-config.ts';
export { type Origin, pickByOrigin, showOrigin } from './origins.ts';
export { configError, type Problem, placeOf, problemsOf, toProblemText } from './problem.ts';
export { type ConfigFormat, parseSource, readSource } from './read-source.ts';
export { toConfigJsonSchema } from './schema-shape.ts';
export {
  type Complaint,
  connectionUrl,
  revealText,
  Secret,
  type SecretRules,
  secret,
  secretOrText,
  toReferences,
} from './secret.ts';
export type { Source } from './source.ts';
