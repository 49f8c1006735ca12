export { toConfigJsonSchema } from './json-schema.ts';
export { type KeyPath, toKey } from './key-path.ts';
export {
  type ConfigPart,
  type FlagOverride,
  type LoadConfigOptions,
  type LoadedConfig,
  loadConfig,
} from './load-config.ts';
export { type Origin, showOrigin } from './origin.ts';
export { pickByOrigin } from './origins.ts';
export { configError, type Problem, placeOf, problemsOf, toProblemText } from './problem.ts';
export {
  type ConfigFormat,
  parseSource,
  type ReadSourceOptions,
  readSource,
} from './read-source.ts';
export { toReferences } from './references.ts';
export {
  type Complaint,
  revealText,
  Secret,
  type SecretRules,
  secret,
  secretOrText,
} from './secret.ts';
export type { Source } from './source.ts';
