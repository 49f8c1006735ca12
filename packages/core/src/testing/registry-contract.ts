// What every registry backend must do.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DirectoryListener } from '../directory.ts';
import type { Manifest } from '../manifest.ts';
import type { Registrar, Registry } from '../ports/registry.ts';
import { exampleManifest } from './fakes.ts';

export interface RegistrySubject {
  /** Empty at first. */
  readonly registry: Registry;
  /** Moves the clock of its leases, and ends those that ran out. */
  advance(ms: number): Promise<void>;
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
      expect(registry.get('subject')?.health).toEqual({ ...online, since: online.checked_at });
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

    describe('instances', () => {
      const on = (node_id: string, change: Parameters<typeof exampleManifest>[0] = {}) =>
        exampleManifest({ node_id, ...change });
      const nodes = (agentId = 'subject') =>
        registry.get(agentId)?.instances.map(({ manifest, hold, state }) => {
          return [manifest.node_id, hold?.reason ?? state];
        });

      it('are one agent, whose definition is served once', async () => {
        await register(on('b'), on('a', { version: '2.0.0' }));
        expect(ids(registry.list())).toEqual(['subject']);
        expect(ids(registry.findByCapability('work'))).toEqual(['subject']);
        expect(nodes()).toEqual([
          ['a', 'active'],
          ['b', 'active'],
        ]);
      });

      it('are held while their definition is not the newest one', async () => {
        await register(on('a'), on('b', { tags: ['newer'] }));
        expect(nodes()).toEqual([
          ['a', 'definition'],
          ['b', 'active'],
        ]);
        expect(registry.get('subject')?.manifest.tags).toEqual(['newer']);
        expect(registry.status().held).toMatchObject([
          { agent_id: 'subject', node_id: 'a', reason: 'definition' },
        ]);
        await register(on('a', { tags: ['newer'] }));
        expect(nodes()).toEqual([
          ['a', 'active'],
          ['b', 'active'],
        ]);
      });

      it('each have their health; the agent has the best of it', async () => {
        await register(on('a'), on('b'));
        const offline = { status: 'offline', checked_at: online.checked_at } as const;
        await registry.updateHealth('subject', offline, 'a');
        await registry.updateHealth('subject', online, 'b');
        expect(registry.get('subject')?.health.status).toBe('online');
        await registry.updateHealth('subject', offline, 'b');
        expect(registry.get('subject')?.health.status).toBe('offline');
      });
    });

    describe('registrations', () => {
      const agent = { principal: 'agent-1', isOperator: false };
      const other = { principal: 'agent-2', isOperator: false };
      const operator = { principal: 'ops', isOperator: true };
      const leaseMs = 30_000;
      const registrar = (): Registrar => {
        if (!registry.registrar) throw new Error('no registrar');
        return registry.registrar;
      };
      const stateOf = (node = 'local') => {
        const found = registry
          .get('subject')
          ?.instances.find(({ manifest }) => manifest.node_id === node);
        return found && { state: found.state, ...found.health };
      };
      const refusal = (reason: string) => ({ code: 'BAD_INPUT', details: { reason } });

      it('have an epoch that rises, and end with the next one', async () => {
        const first = await registrar().register(exampleManifest(), agent, { leaseMs });
        const second = await registrar().register(exampleManifest(), agent, { leaseMs });
        expect(first).toMatchObject({ agent_id: 'subject', node_id: 'local', lease_ms: leaseMs });
        expect(second.epoch).toBeGreaterThan(first.epoch);
        await expect(registrar().renew(first, agent)).rejects.toMatchObject(refusal('stale_epoch'));
        expect((await registrar().renew(second, agent)).expiresAt).toBeGreaterThan(0);
        expect(registry.get('subject')?.instances[0]).toMatchObject({ owner: 'agent-1' });
      });

      it('last as long as their lease is renewed; the definition stays', async () => {
        const first = await registrar().register(exampleManifest(), agent, { leaseMs });
        await subject.advance(leaseMs - 1);
        await registrar().renew(first, agent);
        await subject.advance(leaseMs - 1);
        expect(stateOf()).toMatchObject({ state: 'active' });
        await subject.advance(2);
        expect(stateOf()).toMatchObject({ status: 'offline', reason: 'lease_expired' });
        expect(ids(registry.findByCapability('work'))).toEqual(['subject']);
        await expect(registrar().renew(first, agent)).rejects.toMatchObject(refusal('stale_epoch'));
        await registrar().register(exampleManifest(), agent, { leaseMs });
        expect(stateOf()).toMatchObject({ state: 'active', status: 'unknown' });
        await expect
          .poll(async () => await registrar().history('subject', 1))
          .toMatchObject([{ node_id: 'local', status: 'offline', reason: 'lease_expired' }]);
      });

      it('drain and leave, each under its epoch', async () => {
        const a = await registrar().register(exampleManifest({ node_id: 'a' }), agent, { leaseMs });
        const b = await registrar().register(exampleManifest({ node_id: 'b' }), agent, { leaseMs });
        await registrar().drain(a, agent);
        expect([stateOf('a')?.state, stateOf('b')?.state]).toEqual(['draining', 'active']);
        await expect(registrar().leave({ ...b, epoch: b.epoch + 1 }, agent)).rejects.toMatchObject(
          refusal('stale_epoch'),
        );
        await registrar().leave(a, agent);
        expect(stateOf('a')).toBeUndefined();
        await registrar().leave(b, agent);
        expect(registry.get('subject')).toBeUndefined();
      });

      it('belong to the principal that made them', async () => {
        const own = await registrar().register(exampleManifest(), agent, { leaseMs });
        const taken = refusal('taken');
        const foreign = exampleManifest({ node_id: 'elsewhere' });
        await expect(registrar().register(foreign, other, { leaseMs })).rejects.toMatchObject(
          taken,
        );
        await expect(registrar().renew(own, other)).rejects.toMatchObject(taken);
        await expect(registrar().drain(own, other)).rejects.toMatchObject(taken);
        await expect(registrar().leave(own, other)).rejects.toMatchObject(taken);
        await registrar().renew(own, operator);
        await register(exampleManifest({ agent_id: 'operators' }));
        await expect(
          registrar().register(exampleManifest({ agent_id: 'operators' }), agent, { leaseMs }),
        ).rejects.toMatchObject(taken);
      });

      it('have no name that looks like another one', async () => {
        await register(exampleManifest({ agent_id: 'percy-1' }));
        await expect(
          registrar().register(exampleManifest({ agent_id: 'percyl' }), agent, { leaseMs }),
        ).rejects.toMatchObject(refusal('look_alike'));
        expect(ids(registry.list())).toEqual(['percy-1']);
      });

      it('do not come back after an operator removed them, until an operator adds them', async () => {
        const own = await registrar().register(exampleManifest(), agent, { leaseMs });
        expect(await registrar().remove('subject', undefined, operator)).toBe(true);
        expect(await registrar().remove('subject', undefined, operator)).toBe(false);
        expect(registry.get('subject')).toBeUndefined();
        await expect(registrar().renew(own, agent)).rejects.toMatchObject(refusal('stale_epoch'));
        await expect(
          registrar().register(exampleManifest(), agent, { leaseMs }),
        ).rejects.toMatchObject(refusal('removed'));
        await registrar().register(exampleManifest(), operator, { leaseMs });
        expect(stateOf()).toMatchObject({ state: 'active' });
      });

      it('let one of two writers of a revision through', async () => {
        const { revision } = await registrar().register(exampleManifest(), operator);
        const write = (tag: string) =>
          registrar().register(exampleManifest({ tags: [tag] }), operator, {
            ifRevision: revision,
          });
        const both = await Promise.allSettled([write('one'), write('two')]);
        const lost = both.filter(({ status }) => status === 'rejected');
        expect(lost).toMatchObject([{ reason: refusal('revision_conflict') }]);
        const tags = registry.get('subject')?.manifest.tags;
        expect(tags).toEqual([both[0]?.status === 'fulfilled' ? 'one' : 'two']);
      });

      it.each([
        ['a description of 10 MB', { description: 'x'.repeat(10_000_000) }, 'manifest_bytes'],
        ['a NUL character', { description: 'a\u0000b' }, 'manifest_text'],
        ['half a surrogate pair', { tags: ['\ud800'] }, 'manifest_text'],
        ['a key that is not known', { owner: 'me' }, 'manifest'],
        ['a node with a line break', { node_id: 'a\nb' }, 'manifest'],
        ['no URL', { endpoint: { transport: 'http', uri: 'nowhere' } }, 'manifest'],
        ['a lease of a millisecond', {}, 'lease_ms'],
      ])('refuse %s, and change nothing', async (_, change, reason) => {
        const manifest = { ...exampleManifest(), ...change } as Manifest;
        const lease = reason === 'lease_ms' ? 1 : leaseMs;
        await expect(
          registrar().register(manifest, agent, { leaseMs: lease }),
        ).rejects.toMatchObject(refusal(reason));
        expect(registry.list()).toEqual([]);
      });

      it('refuse a schema that is nested too deep', async () => {
        let schema: Record<string, unknown> = {};
        for (let depth = 0; depth < 10_000; depth += 1) schema = { not: schema };
        const manifest = {
          ...exampleManifest(),
          capabilities: [{ ...exampleManifest().capabilities?.[0], input_schema: schema }],
        } as Manifest;
        await expect(registrar().register(manifest, agent, { leaseMs })).rejects.toMatchObject(
          refusal('manifest'),
        );
        expect(registry.list()).toEqual([]);
      });

      it('keep texts of every kind as they are', async () => {
        const odd = `'; DROP TABLE instance; -- $1 %s \\" \\u0000 \n 漢字 🦊`;
        const manifest = exampleManifest({
          node_id: `'); DELETE FROM agent; --`,
          version: odd,
          description: odd,
          region: odd.slice(0, 60),
          tags: [odd],
          endpoint: { transport: 'http', uri: `http://127.0.0.1:1/?q='%3B--`, headers: { x: odd } },
          capabilities: [{ name: 'work', description: odd, input_schema: { title: odd } }],
        });
        const principal = { principal: odd, isOperator: false };
        const own = await registrar().register(manifest, principal, { leaseMs });
        await registrar().renew(own, principal);
        expect(registry.get('subject')?.manifest).toEqual(manifest);
        expect(registry.get('subject')?.instances[0]?.owner).toBe(odd);
        await registry.updateHealth('subject', { ...online, message: odd });
        await expect
          .poll(async () => (await registrar().history('subject', 1))[0]?.message)
          .toBe(odd);
      });
    });
  });
}
