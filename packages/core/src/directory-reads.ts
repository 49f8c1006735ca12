import {
  type AgentFilter,
  type AgentRecord,
  Directory,
  type DirectoryListener,
  type HeldCapability,
} from './directory.ts';
import type { Health } from './health.ts';
import type { Capability } from './manifest.ts';

/** The half of a registry that is the same for all: reads answer from the directory, at once. */
export abstract class DirectoryReads {
  protected readonly directory = new Directory();

  list(filter?: AgentFilter): AgentRecord[] {
    return this.directory.list(filter);
  }

  get(agentId: string): AgentRecord | undefined {
    return this.directory.get(agentId);
  }

  findByCapability(capability: string): AgentRecord[] {
    return this.directory.findByCapability(capability);
  }

  resolveFallbacks(agentId: string, capability: string): AgentRecord[] {
    return this.directory.resolveFallbacks(agentId, capability);
  }

  /** Kept in memory; a backend that shares health writes it first. */
  async updateHealth(agentId: string, health: Health): Promise<void> {
    this.directory.setHealth(agentId, health);
  }

  updateCapabilities(
    agentId: string,
    capabilities: readonly Capability[],
    held?: readonly HeldCapability[],
  ): void {
    this.directory.setCapabilities(agentId, capabilities, held);
  }

  watch(listener: DirectoryListener): () => void {
    return this.directory.watch(listener);
  }
}
