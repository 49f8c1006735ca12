import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { AGENTS, META, partitionOf } from '../src/partitions.ts';
import { World } from './support/world.ts';

/** More than the sweeper reads at once. */
const MANY = 1_100;
/** A registration ends after two seconds without a heartbeat, long before the sweeper looks through everything. */
const QUICK = { heartbeatIntervalMs: 1_000 };
const OVER_MS = 5_000;
const LOOK_THROUGH_MS = 60_000;

const names = (count: number) => Array.from({ length: count }, (_, n) => `a${n}`);

async function register(world: World, agentIds: readonly string[]): Promise<void> {
  const client = world.connect();
  for (const agent_id of agentIds) {
    await client.call('agent_registry.register', { agent_id, capabilities: [] });
  }
}

/** What the store says, not what the time makes of it. */
async function statuses(store: CoordinationStore): Promise<Record<string, number>> {
  const { entries } = await store.read(AGENTS);
  const counts: Record<string, number> = {};
  for (const { value } of entries.values()) {
    const status = String(Object(value).status);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

async function create(world: World, sessionIds: readonly string[]): Promise<void> {
  const client = await world.agent('owner');
  for (const session_id of sessionIds) {
    await client.call('session_manager.create', { session_id, ttl_ms: OVER_MS });
  }
}

async function states(store: CoordinationStore, sessionIds: readonly string[]) {
  const counts: Record<string, number> = {};
  for (const sessionId of sessionIds) {
    const { entries } = await store.read(partitionOf.session(sessionId), [META]);
    const state = String(Object(entries.get(META)?.value).state);
    counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

/** The store fails whenever this partition is read. */
function failOn(store: CoordinationStore, partition: string): () => void {
  const read = store.read.bind(store);
  store.read = (name, keys) =>
    name === partition ? Promise.reject(new Error('out of reach')) : read(name, keys);
  return () => {
    store.read = read;
  };
}

describe('one sweep', () => {
  it('retires all lost agents, however many there are', async () => {
    await using world = new World({ ...QUICK, limits: { agents: 2 * MANY } });
    await register(world, names(MANY));
    await world.coordination.sweep();
    await world.advance(OVER_MS);
    expect(await statuses(world.store)).toEqual({ inactive: MANY });
  });

  it('ends all expired sessions, however many there are', async () => {
    await using world = new World({ limits: { sessions_per_agent: 2 * MANY } });
    await create(world, names(MANY));
    await world.coordination.sweep();
    await world.advance(OVER_MS);
    expect(await states(world.store, names(MANY))).toEqual({ ended: MANY });
  });

  it('looks through everything next time when it missed something', async () => {
    await using world = new World({ ...QUICK, keepEvents: 100 });
    await register(world, names(300));
    await world.coordination.sweep();
    await world.advance(OVER_MS);
    await world.coordination.sweep();
    expect(await statuses(world.store)).toEqual({ inactive: 300 });
  });
});

describe('one that cannot be seen to', () => {
  const ids = names(50);

  it('is left for later among lost agents, and the others are not', async () => {
    await using world = new World(QUICK);
    await register(world, ids);
    await world.coordination.sweep();
    const recover = failOn(world.store, partitionOf.agent('a7'));
    await world.advance(OVER_MS);
    expect(await statuses(world.store)).toEqual({ inactive: 49, active: 1 });
    await world.advance(LOOK_THROUGH_MS);
    expect(await statuses(world.store)).toEqual({ inactive: 49, active: 1 });
    recover();
    await world.advance(LOOK_THROUGH_MS);
    expect(await statuses(world.store)).toEqual({ inactive: 50 });
  });

  it('is left for later among sessions, and the others are not', async () => {
    await using world = new World();
    await create(world, ids);
    await world.coordination.sweep();
    for (const others of [{ ended: 49 }, { undefined: 49 }]) {
      const recover = failOn(world.store, partitionOf.session('a7'));
      await world.advance(LOOK_THROUGH_MS);
      recover();
      expect(await states(world.store, ids)).toEqual({ ...others, active: 1 });
    }
    await world.advance(LOOK_THROUGH_MS);
    expect(await states(world.store, ['a7'])).toEqual({ ended: 1 });
  });
});
