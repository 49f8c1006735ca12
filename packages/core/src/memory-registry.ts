import type { HeldCapability } from './agent-lookup.ts';
import { type Clock, systemClock } from './clock.ts';
import { Directory } from './directory.ts';
import type { Health } from './health.ts';
import { toInstance } from './instance.ts';
import { type Capability, type Manifest, type ManifestInput, manifestSchema } from './manifest.ts';
import { MemoryRegistrar, type MemoryRegistrarOptions } from './memory-registrar.ts';
import type { Registry, RegistryStatus } from './ports/registry.ts';

/** The half of a registry that is the same for all: reads answer from the directory, at once. */
export abstract class DirectoryReads {
  protected readonly directory = new Directory();

  readonly list = this.directory.list.bind(this.directory);
  readonly get = this.directory.get.bind(this.directory);
  readonly findByCapability = this.directory.findByCapability.bind(this.directory);
  readonly resolveFallbacks = this.directory.resolveFallbacks.bind(this.directory);
  readonly watch = this.directory.watch.bind(this.directory);

  async updateHealth(agentId: string, health: Health, nodeId?: string): Promise<void> {
    const instance = this.#instance(agentId, nodeId);
    if (!instance) return;
    const { manifest, health: before } = instance;
    this.directory.setHealth(agentId, health, manifest.node_id);
    if (before.status !== health.status)
      this.noteHealth(manifest.agent_id, manifest.node_id, health);
  }

  updateCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held?: readonly HeldCapability[],
  ): void {
    this.directory.setCapabilities(agentId, capabilities, held);
  }

  /** A change of the status of an instance, for the history. */
  protected abstract noteHealth(agentId: string, nodeId: string, health: Health): void;

  /** The part of `status` that the directory knows. */
  protected statusOf(): Pick<RegistryStatus, 'agents' | 'held'> {
    const held = this.directory.heldInstances().map(({ manifest: { agent_id, node_id }, hold }) => {
      return { agent_id, node_id, ...hold };
    });
    return { agents: this.directory.size, ...(held.length > 0 && { held }) };
  }

  #instance(agentId: string, nodeId: string | undefined) {
    const record = this.directory.get(agentId);
    const node = nodeId ?? record?.manifest.node_id;
    return record?.instances.find(({ manifest }) => manifest.node_id === node);
  }
}

/** Registrations and history live in this process. */
export abstract class LocalRegistry extends DirectoryReads {
  readonly registrar: MemoryRegistrar;

  constructor(options: Omit<MemoryRegistrarOptions, 'directory'> & { readonly clock: Clock }) {
    super();
    this.registrar = new MemoryRegistrar({ ...options, directory: this.directory });
  }

  protected override noteHealth(agent_id: string, node_id: string, health: Health): void {
    this.registrar.note({ agent_id, node_id }, health);
  }
}

/** A registry with nothing behind it: agents that are known from the start, or register. */
export class MemoryRegistry extends LocalRegistry implements Registry {
  constructor(manifests: readonly ManifestInput[] = [], clock: Clock = systemClock) {
    super({ clock });
    const entries = manifests.map((each, index) => toInstance(manifestSchema.parse(each), index));
    this.directory.replaceAll(entries);
  }

  async register(manifest: Manifest): Promise<void> {
    await this.registrar.register(manifest, { principal: 'local', isOperator: true });
  }

  status(): RegistryStatus {
    return { kind: 'memory', ok: true, as_of: new Date().toISOString(), ...this.statusOf() };
  }

  async close(): Promise<void> {
    this.registrar.close();
  }
}
