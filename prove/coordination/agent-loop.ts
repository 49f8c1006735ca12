// What one agent of the workload does, one thing after the other, by its own dice.

import { setTimeout as delay } from 'node:timers/promises';
import { type Client, toRead, toVersion } from './client.ts';
import type { Outcome } from './history.ts';
import type { Random } from './random.ts';

export interface Places {
  /** Sessions whose updates need the lock, and sessions whose updates need none. */
  readonly locked: readonly [string, ...string[]];
  readonly free: readonly [string, ...string[]];
  readonly keys: readonly [string, ...string[]];
  readonly counters: readonly [string, ...string[]];
}

export interface AgentLoopOptions {
  readonly client: Client;
  readonly random: Random;
  readonly places: Places;
  readonly lockMs: number;
  /** No new operation begins after this. */
  readonly stop: AbortSignal;
}

const REPEATS = 200;
const BACK_OFF_MS = 25;

export async function runAgent({ client, random, places, lockMs, stop }: AgentLoopOptions) {
  const all = [...places.locked, ...places.free];
  const begin = async (): Promise<undefined> => {
    if (!(await client.register())) return;
    for (const session_id of all) {
      await client.ask('session_manager.join', { agent_id: client.agent, session_id });
    }
  };
  const disconnect = (): undefined => {
    client.disconnect();
  };
  const steps: readonly (readonly [weight: number, step: () => Promise<Outcome | undefined>])[] = [
    [26, () => read(random.pick([random.pick(places.free), random.pick(places.locked)]))],
    [20, () => increment(random.pick(places.free))],
    [14, () => write(random.pick(places.free), {})],
    [14, () => compareAndSet(random.pick(places.free))],
    [12, () => writeUnderLock(random.pick(places.locked))],
    [8, () => write(random.pick(places.locked), { with_lock: true })],
    [4, () => beat()],
    [1, () => beatAsBefore()],
    [1, () => begin()],
    [1, async () => disconnect()],
  ];
  const total = steps.reduce((sum, [weight]) => sum + weight, 0);

  await begin();
  while (!stop.aborted) {
    const outcome = await chooseStep(random.next() * total)();
    if (outcome?.kind === 'unknown') await delay(BACK_OFF_MS);
    if (outcome?.kind === 'refused' && LOST.has(outcome.reason)) await begin();
  }

  function chooseStep(roll: number) {
    let passed = 0;
    for (const [weight, step] of steps) {
      passed += weight;
      if (roll < passed) return step;
    }
    return beat;
  }

  async function read(session: string): Promise<Outcome> {
    const key = random.pick([random.pick(places.keys), random.pick(places.counters)]);
    return await client.perform({
      session,
      operation: { kind: 'read', key },
      method: 'context_coordinator.get',
      params: { keys: [key] },
      toResult: toRead(key),
    });
  }

  async function write(session: string, params: { with_lock?: true; lock_token?: number }) {
    const key = random.pick(places.keys);
    const value = `${client.agent}:${random.below(2 ** 32)}`;
    const token = params.lock_token === undefined ? {} : { token: params.lock_token };
    return await client.perform({
      session,
      operation: { kind: 'write', key, value, ...token },
      method: 'context_coordinator.update',
      params: { update: { [key]: value }, ...params },
      toResult: toVersion,
      repeats: repeats(),
    });
  }

  async function increment(session: string): Promise<Outcome> {
    const key = random.pick(places.counters);
    return await client.perform({
      session,
      operation: { kind: 'increment', key, by: 1 },
      method: 'context_coordinator.update',
      params: { update: { [key]: 1 }, op: 'increment' },
      toResult: toVersion,
      repeats: repeats(),
    });
  }

  async function compareAndSet(session: string): Promise<Outcome> {
    const key = random.pick(places.keys);
    const before = await client.perform({
      session,
      operation: { kind: 'read', key },
      method: 'context_coordinator.get',
      params: { keys: [key] },
      toResult: toRead(key),
    });
    if (before.kind !== 'ok') return before;
    const ifVersion = before.result.version ?? 0;
    const value = `${client.agent}:${random.below(2 ** 32)}`;
    return await client.perform({
      session,
      operation: { kind: 'cas', key, value, ifVersion },
      method: 'context_coordinator.update',
      params: { update: { [key]: value }, if_versions: { [key]: ifVersion } },
      toResult: toVersion,
      repeats: repeats(),
    });
  }

  /** Now and then the holder sleeps past its lease and writes all the same. */
  async function writeUnderLock(session: string): Promise<Outcome> {
    const resource = 'context';
    const granted = await client.perform({
      session,
      operation: { kind: 'acquire', resource },
      method: 'memory_locker.acquire',
      params: { resource, ttl_ms: lockMs, wait_ms: random.below(2) * lockMs },
      toResult: ({ lock_token }) => ({ token: Number(lock_token) }),
    });
    const token = granted.kind === 'ok' ? granted.result.token : undefined;
    if (token === undefined) return granted;
    if (random.chance(0.3)) await delay(lockMs * (1 + random.next()));
    for (let left = random.below(4); left > 0; left -= 1)
      await write(session, { lock_token: token });
    const last = await write(session, { lock_token: token });
    if (random.chance(0.1)) return last;
    return await client.perform({
      session,
      operation: { kind: 'release', resource, token },
      method: 'memory_locker.release',
      params: { resource, lock_token: token },
      toResult: () => ({}),
    });
  }

  /** As if the life before this one had only been asleep. */
  async function beatAsBefore(): Promise<undefined> {
    if (client.earlierEpoch > 0) await beat(client.earlierEpoch);
  }

  async function beat(epoch = client.epoch): Promise<Outcome> {
    return await client.perform({
      epoch,
      session: '',
      operation: { kind: 'heartbeat' },
      method: 'agent_registry.heartbeat',
      params: {},
      toResult: () => ({}),
    });
  }

  /** Some give up at once, so that there are operations nobody knows about. */
  function repeats(): number {
    return random.chance(0.7) ? REPEATS : 0;
  }
}

/** The life is over, or with it the place in the session. */
const LOST: ReadonlySet<string> = new Set(['stale_epoch', 'not_found']);
