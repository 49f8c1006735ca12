import { type AgentFilter, Directory, type DirectoryListener } from './directory.ts';
import { FabricError } from './errors.ts';
import type { Health } from './health.ts';
import { type Manifest, type ManifestInput, manifestSchema } from './manifest.ts';
import type { Registry, RegistryStatus } from './ports/registry.ts';

/** A registry with nothing behind it: agents that are known from the start, or register. */
export class MemoryRegistry implements Registry {
  readonly #directory = new Directory();

  constructor(manifests: readonly ManifestInput[] = []) {
    this.#directory.replaceAll(manifests.map((manifest) => manifestSchema.parse(manifest)));
  }

  list(filter?: AgentFilter) {
    return this.#directory.list(filter);
  }

  get(agentId: string) {
    return this.#directory.get(agentId);
  }

  findByCapability(capability: string) {
    return this.#directory.findByCapability(capability);
  }

  resolveFallbacks(agentId: string, capability: string) {
    return this.#directory.resolveFallbacks(agentId, capability);
  }

  async register(manifest: Manifest): Promise<void> {
    const parsed = manifestSchema.safeParse(manifest);
    if (!parsed.success) {
      const details = {
        problems: parsed.error.issues.map(({ path, message }) => ({ path, message })),
      };
      throw new FabricError('BAD_INPUT', 'Not a valid manifest', { details, cause: parsed.error });
    }
    this.#directory.upsert(parsed.data);
  }

  async updateHealth(agentId: string, health: Health): Promise<void> {
    this.#directory.setHealth(agentId, health);
  }

  watch(listener: DirectoryListener) {
    return this.#directory.watch(listener);
  }

  status(): RegistryStatus {
    const as_of = new Date().toISOString();
    return { kind: 'memory', ok: true, agents: this.#directory.size, as_of };
  }

  async close(): Promise<void> {}
}
