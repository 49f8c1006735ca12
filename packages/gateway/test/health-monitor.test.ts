import {
  type Adapter,
  type Health,
  type Manifest,
  MemoryRegistry,
  silentLog,
  systemClock,
} from '@starloom/core';
import { exampleManifest, MemoryAdapter } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { AdapterPool } from '../src/adapter-pool.ts';
import { HealthMonitor } from '../src/health-monitor.ts';

function open(
  health: (manifest: Manifest) => Promise<Health>,
  { agents = 1, onlineEveryMs = 40 }: { agents?: number; onlineEveryMs?: number } = {},
) {
  const manifests = Array.from({ length: agents }, (_, n) =>
    exampleManifest({ agent_id: `a${n}` }),
  );
  const registry = new MemoryRegistry(manifests);
  const adapters = new AdapterPool({
    log: silentLog,
    open: async (manifest) =>
      Object.assign(new MemoryAdapter(manifest, async function* () {}), {
        health: () => health(manifest),
      }) as Adapter,
  });
  const seen: string[] = [];
  const monitor = new HealthMonitor({
    registry,
    adapters,
    log: silentLog,
    clock: systemClock,
    onHealth: (agentId, { status }) => seen.push(`${agentId} ${status}`),
    offlineEveryMs: 20,
    onlineEveryMs,
    probeMs: 100,
    atOnce: 2,
  });
  monitor.start();
  const close = async () => {
    monitor.stop();
    await adapters.close();
  };
  return { registry, seen, [Symbol.asyncDispose]: close };
}

const online: Health = { status: 'online', checked_at: null };

describe('health monitor', () => {
  it('[G36] asks every agent when it appears, a few at a time', async () => {
    let asking = 0;
    let most = 0;
    const ask = async () => {
      asking += 1;
      most = Math.max(most, asking);
      await new Promise(setImmediate);
      asking -= 1;
      return online;
    };
    await using world = open(ask, { agents: 6 });
    await expect.poll(() => world.registry.list({ status: 'online' })).toHaveLength(6);
    expect(most).toBeLessThanOrEqual(2);
    await world.registry.register(exampleManifest({ agent_id: 'late' }));
    await expect.poll(() => world.registry.get('late')?.health.status).toBe('online');
  });

  it('[G36] marks an agent offline that does not answer, and back when it does', async () => {
    let down = true;
    await using world = open(() => (down ? new Promise(() => {}) : Promise.resolve(online)));
    await expect.poll(() => world.registry.get('a0')?.health.status).toBe('offline');
    down = false;
    await expect.poll(() => world.registry.get('a0')?.health.status).toBe('online');
    expect(world.seen).toContain('a0 offline');
    expect(world.seen.at(-1)).toBe('a0 online');
  });

  it('asks an agent at once when its manifest changed, and drops an answer of the one before', async () => {
    const first = Promise.withResolvers<Health>();
    const asked: string[] = [];
    const ask = ({ version }: Manifest) => {
      asked.push(version);
      return version === '2' ? Promise.resolve(online) : first.promise;
    };
    await using world = open(ask, { onlineEveryMs: 3_600_000 });
    await expect.poll(() => asked).toHaveLength(1);
    await world.registry.register(exampleManifest({ agent_id: 'a0', version: '2' }));
    first.resolve({ status: 'degraded', checked_at: null });
    await expect.poll(() => world.registry.get('a0')?.health.status).toBe('online');
    expect(world.seen).toEqual(['a0 online']);
    await world.registry.register(exampleManifest({ agent_id: 'a0', version: '2', tags: ['x'] }));
    await expect.poll(() => asked).toHaveLength(3);
  });
});
