// What every registry backend must do.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DirectoryListener } from '../directory.ts';
import type { Manifest } from '../manifest.ts';
import type { Registry } from '../ports/registry.ts';
import { exampleManifest } from './examples.ts';

export interface RegistrySubject {
  /** Empty at first. */
  readonly registry: Registry;
  /** Frees what the test made; the contract closes the registry itself. */
  close(): Promise<void>;
}

export function registryContract(name: string, open: () => Promise<RegistrySubject>): void {
  describe(`registry contract: ${name}`, () => {
    let subject: RegistrySubject;
    let registry: Registry;
    beforeEach(async () => {
      subject = await open();
      registry = subject.registry;
    });
    afterEach(async () => {
      await registry.close();
      await subject.close();
    });

    const ids = (records: readonly { manifest: Manifest }[]) =>
      records.map(({ manifest }) => manifest.agent_id);
    const register = async (...manifests: Manifest[]) => {
      for (const manifest of manifests) await registry.register(manifest);
    };
    const online = { status: 'online', checked_at: '2026-01-01T00:00:00.000Z' } as const;

    it('knows no agent at first', () => {
      expect(registry.list()).toEqual([]);
      expect(registry.get('subject')).toBeUndefined();
      expect(registry.findByCapability('work')).toEqual([]);
      expect(registry.resolveFallbacks('subject', 'work')).toEqual([]);
      expect(registry.status()).toMatchObject({ ok: true, agents: 0 });
    });

    it('gives back what was registered, whole', async () => {
      const manifest = exampleManifest({
        tags: ['planner'],
        capabilities: [{ name: 'fs:read', input_schema: { type: 'object' }, timeout_ms: 5 }],
      });
      await register(manifest);
      expect(registry.get('subject')?.manifest).toEqual(manifest);
      expect(registry.get('subject')?.health.status).toBe('unknown');
      expect(registry.status().agents).toBe(1);
    });

    it('replaces a manifest that is registered again', async () => {
      await register(exampleManifest({ tags: ['old'] }), exampleManifest({ tags: ['new'] }));
      expect(ids(registry.list({ tag: 'old' }))).toEqual([]);
      expect(ids(registry.list({ tag: 'new' }))).toEqual(['subject']);
    });

    it('refuses what is not a manifest and stays as it was', async () => {
      const wrong = { ...exampleManifest(), agent_id: 'Not an id' };
      await expect(registry.register(wrong)).rejects.toMatchObject({ code: 'BAD_INPUT' });
      expect(registry.list()).toEqual([]);
    });

    it('filters by capability, tag, tier, status and modality, all of them at once', async () => {
      await register(
        exampleManifest({ agent_id: 'a', tags: ['x'] }),
        exampleManifest({ agent_id: 'b', tags: ['x'], trust_tier: 'partner' }),
        exampleManifest({
          agent_id: 'c',
          capabilities: [{ name: 'see', modalities: ['image'] }, { name: 'work' }],
        }),
      );
      await registry.updateHealth('a', online);
      expect(ids(registry.list())).toEqual(['a', 'b', 'c']);
      expect(ids(registry.list({ capability: 'see' }))).toEqual(['c']);
      expect(ids(registry.list({ tag: 'x' }))).toEqual(['a', 'b']);
      expect(ids(registry.list({ tier: 'partner' }))).toEqual(['b']);
      expect(ids(registry.list({ status: 'online' }))).toEqual(['a']);
      expect(ids(registry.list({ modality: 'image' }))).toEqual(['c']);
      expect(ids(registry.list({ modality: 'image', capability: 'work' }))).toEqual([]);
      expect(ids(registry.list({ tag: 'x', status: 'online' }))).toEqual(['a']);
      expect(ids(registry.list({ tag: 'nowhere' }))).toEqual([]);
    });

    it('finds by capability with the most trusted first', async () => {
      await register(
        exampleManifest({ agent_id: 'a', trust_tier: 'public' }),
        exampleManifest({ agent_id: 'b', trust_tier: 'local' }),
        exampleManifest({ agent_id: 'c', trust_tier: 'public' }),
      );
      expect(ids(registry.findByCapability('work'))).toEqual(['b', 'a', 'c']);
    });

    it('resolves named fallbacks first, then peers trusted at least as far', async () => {
      await register(
        exampleManifest({ agent_id: 'a', fallbacks: ['z', 'gone', 'idle'], trust_tier: 'org' }),
        exampleManifest({ agent_id: 'idle', capabilities: [{ name: 'rest' }] }),
        exampleManifest({ agent_id: 'low', trust_tier: 'public' }),
        exampleManifest({ agent_id: 'peer', trust_tier: 'org' }),
        exampleManifest({ agent_id: 'top', trust_tier: 'local' }),
        exampleManifest({ agent_id: 'z', trust_tier: 'public' }),
      );
      expect(ids(registry.resolveFallbacks('a', 'work'))).toEqual(['z', 'top', 'peer']);
    });

    it('tracks health, and forgets it for no agent', async () => {
      await register(exampleManifest());
      await registry.updateHealth('subject', online);
      expect(registry.get('subject')?.health).toEqual(online);
      await registry.updateHealth('gone', online);
      expect(registry.get('gone')).toBeUndefined();
    });

    it('tells watchers of new agents and of changed health, until they stop', async () => {
      const changes: Parameters<DirectoryListener>[0][] = [];
      const stop = registry.watch((change) => changes.push(change));
      await register(exampleManifest());
      await registry.updateHealth('subject', online);
      await registry.updateHealth('subject', { ...online, latency_ms: 3 });
      stop();
      await register(exampleManifest({ agent_id: 'later' }));
      expect(changes).toEqual([
        { kind: 'agents', agentIds: ['subject'] },
        { kind: 'health', agentIds: ['subject'] },
      ]);
    });
  });
}
