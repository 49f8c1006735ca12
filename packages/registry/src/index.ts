export { type AgentsFileChange, changeAgentsFile, readAgentsFile } from './agents-file.ts';
export { toManifestEntry } from './agents-text.ts';
export { endpointOptions, type OptionSchemas } from './endpoint-options.ts';
export { anchorSecretFiles, type Env, resolveEndpoint } from './endpoint-secrets.ts';
export { assertOpenable, openRegistry, type RegistryConfig } from './open-registry.ts';
export {
  openPackageRegistry,
  type PackageRegistryConfig,
  type RegistryDependencies,
  type RegistryPackage,
} from './package-registry.ts';
export {
  openPostgresRegistry,
  PostgresRegistry,
  type PostgresRegistryOptions,
} from './postgres.ts';
export { assertOwnRights, assertShared, type SharedRules } from './shared-rules.ts';
export { openYamlRegistry, type YamlRegistry, type YamlRegistryOptions } from './yaml.ts';
