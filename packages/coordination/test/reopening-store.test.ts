import { FabricError, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { createCoordination, openReopeningStore } from '../src/index.ts';
import { MemoryCoordinationStore } from '../src/testing.ts';
import { Client } from './support/world.ts';

const retryMs = { first: 5, most: 20 };
const full = () =>
  new FabricError('OVERLOADED', 'The disk is full', {
    details: { reason: 'engine_unavailable', fix: 'free some space' },
  });

/** Opens a store of which the test says whether it can be opened and whether it works. */
function openFaulty() {
  const state = { isFull: true, opened: 0, errors: 0 };
  const kept = new MemoryCoordinationStore();
  let failure: FabricError | undefined;
  const open = async (): Promise<CoordinationStore> => {
    if (state.isFull) throw full();
    state.opened += 1;
    failure = undefined;
    return new Proxy(kept, {
      get: (target, name) => {
        if (name === 'failure') return failure;
        if (name === 'close') return async () => {};
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  const fail = () => {
    failure = full();
  };
  const log = {
    ...silentLog,
    error: () => {
      state.errors += 1;
    },
  };
  return { state, fail, open: () => openReopeningStore({ open, log, retryMs }) };
}

describe('a store that may be away', () => {
  it('opens although its engine cannot, says so, and works as soon as that can', async () => {
    const { state, open } = openFaulty();
    const store = await open();
    const coordination = createCoordination({ store });
    coordination.start();
    const client = new Client(coordination, { principal: 'ci' });
    expect(await client.refused('session_manager.create', { agent_id: 'a' })).toMatchObject({
      code: -32010,
      data: { reason: 'engine_unavailable', problem: 'The disk is full', fix: 'free some space' },
    });
    expect(coordination.failure?.message).toContain('The disk is full');
    await expect(coordination.check()).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(state.errors).toBe(1);
    state.isFull = false;
    await expect.poll(() => coordination.failure).toBeUndefined();
    await client.call('session_manager.create', { agent_id: 'a' });
    await coordination.close();
    await store.close();
  });

  it('comes back after a failure, with its watchers', async () => {
    const { state, fail, open } = openFaulty();
    state.isFull = false;
    const store = await open();
    const coordination = createCoordination({ store });
    const client = new Client(coordination, { principal: 'ci' });
    const { session_id } = await client.call('session_manager.create', {
      agent_id: 'a',
      mode: 'cas',
    });
    await client.call('context_coordinator.subscribe', { session_id });
    const write = (n: number) =>
      client.call('context_coordinator.update', { session_id, update: { n } });
    await write(1);
    await expect.poll(() => client.pushed('context_coordinator.update')).toHaveLength(1);
    state.isFull = true;
    fail();
    expect((await client.refused('context_coordinator.get', { session_id })).code).toBe(-32010);
    state.isFull = false;
    await expect.poll(() => coordination.failure).toBeUndefined();
    await write(2);
    await expect.poll(() => client.pushed('context_coordinator.update')).toHaveLength(2);
    await coordination.close();
    await store.close();
  });

  it('is not opened when trying again would not help', async () => {
    const open = () => Promise.reject(full());
    const isFinal = () => true;
    await expect(openReopeningStore({ open, log: silentLog, isFinal })).rejects.toThrow('full');
  });
});
