import { type Adapter, silentLog } from '@starloom/core';
import { exampleManifest, MemoryAdapter } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { AdapterPool } from '../src/adapter-pool.ts';

function open() {
  const closed: Adapter[] = [];
  let opened = 0;
  const pool = new AdapterPool({
    log: silentLog,
    open: async (manifest) => {
      opened += 1;
      const adapter = new MemoryAdapter(manifest, async function* () {});
      const close = adapter.close.bind(adapter);
      adapter.close = async () => {
        closed.push(adapter);
        await close();
      };
      return adapter;
    },
  });
  return { pool, closed, opened: () => opened };
}

describe('adapter pool', () => {
  it('opens one adapter per manifest, however many calls there are', async () => {
    const { pool, opened } = open();
    const manifest = exampleManifest();
    const leases = await Promise.all([pool.lease(manifest), pool.lease(manifest)]);
    expect(leases[0]?.adapter).toBe(leases[1]?.adapter);
    expect(opened()).toBe(1);
    await pool.close();
  });

  it('closes the old adapter when its last call has ended, not before', async () => {
    const { pool, closed } = open();
    const old = await pool.lease(exampleManifest());
    const fresh = await pool.lease(exampleManifest({ version: '2' }));
    expect(fresh.adapter).not.toBe(old.adapter);
    expect(closed).toEqual([]);
    old[Symbol.dispose]();
    await expect.poll(() => closed).toEqual([old.adapter]);
    await pool.close();
    expect(closed).toEqual([old.adapter, fresh.adapter]);
  });

  it('tries again after an adapter could not be opened', async () => {
    let broken = true;
    const manifest = exampleManifest();
    const pool = new AdapterPool({
      log: silentLog,
      open: async () => {
        if (broken) throw new Error('no');
        return new MemoryAdapter(manifest, async function* () {});
      },
    });
    await expect(pool.lease(manifest)).rejects.toMatchObject({ details: { sent: false } });
    broken = false;
    await expect(pool.lease(manifest)).resolves.toBeDefined();
    await pool.close();
    await expect(pool.lease(manifest)).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});
