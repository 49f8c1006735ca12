import { type Adapter, MemoryRegistry, silentLog } from '@starloom/core';
import { exampleManifest, ManualClock, MemoryAdapter } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { AdapterPool } from '../src/adapter-pool.ts';
import { HealthMonitor } from '../src/health-monitor.ts';

function openPool() {
  const open = new Set<string>();
  const opened: string[] = [];
  const pool = new AdapterPool({
    log: silentLog,
    open: async (manifest) => {
      const adapter = new MemoryAdapter(manifest, async function* () {});
      open.add(manifest.node_id);
      opened.push(manifest.node_id);
      const close = async () => void open.delete(manifest.node_id);
      return Object.assign(adapter, { close }) as Adapter;
    },
  });
  return { pool, open, opened };
}

const on = (node_id: string, transport: 'http' | 'stdio' = 'http') =>
  exampleManifest({
    node_id,
    endpoint:
      transport === 'http'
        ? { transport, uri: 'http://127.0.0.1:1/' }
        : { transport, command: 'x' },
  });

describe('a probe', () => {
  it('[G36] leaves no connection and no program behind that was opened for it alone', async () => {
    const { pool, open } = openPool();
    const alone = on('alone');
    (await pool.probe(alone))[Symbol.dispose]();
    await expect.poll(() => [...open]).toEqual([]);
    const used = on('used');
    const probe = await pool.probe(used);
    const call = await pool.lease(used);
    probe[Symbol.dispose]();
    call[Symbol.dispose]();
    (await pool.probe(used))[Symbol.dispose]();
    const program = on('program', 'stdio');
    (await pool.probe(program))[Symbol.dispose]();
    await expect.poll(() => [...open]).toEqual(['used']);
    expect([pool.isOpen(used), pool.isOpen(program)]).toEqual([true, false]);
    await pool.close();
    expect([...open]).toEqual([]);
  });

  it('starts a program that no call uses far less often', async () => {
    const { pool, opened } = openPool();
    const registry = new MemoryRegistry([on('program', 'stdio'), on('server')]);
    const clock = new ManualClock();
    const options = { registry, adapters: pool, log: silentLog, clock, onHealth: () => {} };
    const monitor = new HealthMonitor({ ...options, onlineEveryMs: 100, random: () => 0.5 });
    monitor.start();
    const timesOf = (node: string) => opened.filter((one) => one === node).length;
    await expect.poll(() => timesOf('program')).toBe(1);
    for (let probes = 2; probes <= 9; probes += 1) {
      clock.advance(100);
      await expect.poll(() => timesOf('server')).toBe(probes);
    }
    expect(timesOf('program')).toBe(1);
    monitor.stop();
    await pool.close();
  });

  it('[G36] asks every instance, no more than the budget allows', async () => {
    const { pool, opened, open } = openPool();
    const nodes = Array.from({ length: 30 }, (_, n) => `n${n}`);
    const registry = new MemoryRegistry(nodes.map((node) => on(node)));
    const clock = new ManualClock();
    const monitor = new HealthMonitor({
      registry,
      adapters: pool,
      log: silentLog,
      clock,
      onHealth: () => {},
      probesPerSecond: 10,
    });
    monitor.start();
    for (const asked of [10, 20, 30]) {
      await expect.poll(() => new Set(opened).size).toBe(asked);
      clock.advance(1_000);
    }
    expect(registry.get('subject')?.health.status).toBe('online');
    monitor.stop();
    await expect.poll(() => [...open]).toEqual([]);
    await pool.close();
  });
});
