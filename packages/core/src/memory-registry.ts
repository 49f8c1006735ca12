import { type Clock, systemClock } from './clock.ts';
import { LocalRegistry } from './directory-reads.ts';
import { toInstance } from './instance.ts';
import { type Manifest, type ManifestInput, manifestSchema } from './manifest.ts';
import type { Registry, RegistryStatus } from './ports/registry.ts';

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
