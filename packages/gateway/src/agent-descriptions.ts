// What agents say of themselves, beside what their manifests say: the manifest wins, the agent's own
// schemas and descriptions fill in what it leaves out. Asked once an agent is online, kept while its
// manifest stands, asked again when the agent says that its list changed.

import {
  type AgentDescription,
  type Capability,
  FabricError,
  type Log,
  type Manifest,
  type Registry,
} from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { AdapterPool } from './adapter-pool.ts';

export interface AgentDescriptionsOptions {
  readonly registry: Registry;
  readonly adapters: AdapterPool;
  readonly log: Log;
  /** Called when what is known has changed. */
  readonly onChange: () => void;
  readonly askMs?: number;
}

export class AgentDescriptions {
  readonly #options: AgentDescriptionsOptions;
  readonly #known = new WeakMap<Manifest, readonly Capability[]>();
  readonly #asking = new WeakMap<Manifest, Promise<void>>();
  readonly #unwatch: () => void;

  constructor(options: AgentDescriptionsOptions) {
    this.#options = options;
    this.#unwatch = options.registry.watch(({ kind, agentIds }) => {
      if (kind === 'health') for (const agentId of agentIds) this.#askIfOnline(agentId);
    });
  }

  /** At once: what is known by now. */
  known(manifest: Manifest): readonly Capability[] {
    return this.#known.get(manifest) ?? manifest.capabilities;
  }

  /** One capability with all that is known of it by now. */
  knownCapability(manifest: Manifest, capability: Capability): Capability {
    const known = this.#known.get(manifest);
    return known?.find(({ name }) => name === capability.name) ?? capability;
  }

  /** Asks the agent if nobody did yet; what the manifest says when it does not answer. */
  async capabilitiesOf(manifest: Manifest): Promise<Capability[]> {
    if (!this.#known.has(manifest)) await this.#ask(manifest);
    return [...this.known(manifest)];
  }

  /** Asks again; an answer that is on its way may be older than the reason to ask. */
  async refresh(agentId: string): Promise<void> {
    const manifest = this.#options.registry.get(agentId)?.manifest;
    if (!manifest) return;
    await this.#asking.get(manifest);
    await this.#ask(manifest);
  }

  close(): void {
    this.#unwatch();
  }

  #askIfOnline(agentId: string): void {
    const record = this.#options.registry.get(agentId);
    if (record?.health.status !== 'online' || this.#known.has(record.manifest)) return;
    void this.#ask(record.manifest);
  }

  #ask(manifest: Manifest): Promise<void> {
    const asking = this.#asking.get(manifest) ?? this.#fetch(manifest);
    this.#asking.set(manifest, asking);
    return asking.finally(() => this.#asking.delete(manifest));
  }

  async #fetch(manifest: Manifest): Promise<void> {
    const { adapters, log, askMs = 5_000, onChange } = this.#options;
    using deadline = deadlineSignal({ ms: askMs });
    try {
      using lease = await adapters.lease(manifest);
      const description = await lease.adapter.describe({ signal: deadline.signal, log });
      const merged = merge(manifest, description);
      const changed = JSON.stringify(merged) !== JSON.stringify(this.known(manifest));
      this.#known.set(manifest, merged);
      if (changed) onChange();
    } catch (error) {
      const { agent_id } = manifest;
      log.debug({ agent_id, error: FabricError.from(error) }, 'agent did not describe itself');
    }
  }
}

/** An agent may list `fs:read_file` as `fs.read_file`, the form every client accepts. */
function merge(manifest: Manifest, { capabilities }: AgentDescription): Capability[] {
  const told = new Map(capabilities.map((capability) => [capability.name, capability]));
  return manifest.capabilities.map((named) => {
    const asked = named.tool ?? named.name;
    const own = told.get(asked) ?? told.get(asked.replaceAll(':', '.'));
    if (!own) return named;
    const { description, input_schema, output_schema, idempotent } = own;
    return {
      ...(description !== undefined && { description }),
      ...(input_schema && { input_schema }),
      ...(output_schema && { output_schema }),
      ...(idempotent !== undefined && { idempotent }),
      ...named,
    };
  });
}
