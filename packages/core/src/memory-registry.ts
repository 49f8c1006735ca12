import { DirectoryReads } from './directory-reads.ts';
import { FabricError } from './errors.ts';
import { type Manifest, type ManifestInput, manifestSchema } from './manifest.ts';
import type { Registry, RegistryStatus } from './ports/registry.ts';

/** A registry with nothing behind it: agents that are known from the start, or register. */
export class MemoryRegistry extends DirectoryReads implements Registry {
  constructor(manifests: readonly ManifestInput[] = []) {
    super();
    this.directory.replaceAll(manifests.map((manifest) => manifestSchema.parse(manifest)));
  }

  async register(manifest: Manifest): Promise<void> {
    const parsed = manifestSchema.safeParse(manifest);
    if (!parsed.success) {
      const problems = parsed.error.issues.map(({ path, message }) => ({ path, message }));
      throw new FabricError('BAD_INPUT', 'Not a valid manifest', {
        details: { problems },
        cause: parsed.error,
      });
    }
    this.directory.upsert(parsed.data);
  }

  status(): RegistryStatus {
    const as_of = new Date().toISOString();
    return { kind: 'memory', ok: true, agents: this.directory.size, as_of };
  }

  async close(): Promise<void> {}
}
