// What one agent of the workload does, one thing after the other, by its own dice: everything once,
// in any order, then as it comes.

import { setTimeout as delay } from 'node:timers/promises';
import { Actions, type Places } from './actions.ts';
import type { Client } from './client.ts';
import { Deck } from './deck.ts';
import type { Outcome } from './history.ts';
import type { Random } from './random.ts';

export interface AgentLoopOptions {
  readonly client: Client;
  readonly random: Random;
  readonly places: Places;
  readonly lockMs: number;
  /** No new operation begins after this. */
  readonly stop: AbortSignal;
}

interface Step {
  readonly weight: number;
  readonly take: () => Promise<Outcome | undefined>;
}

const BACK_OFF_MS = 25;

export async function runAgent({ client, random, places, lockMs, stop }: AgentLoopOptions) {
  const actions = new Actions(client, random, places, lockMs);
  const free = () => random.pick(places.free);
  const locked = () => random.pick(places.locked);
  const steps: readonly [Step, ...Step[]] = [
    { weight: 26, take: () => read(random.pick([free(), locked()])) },
    { weight: 20, take: () => actions.increment(free()) },
    { weight: 14, take: () => actions.write(free()) },
    { weight: 14, take: () => actions.compareAndSet(free()) },
    { weight: 12, take: () => writeUnderLock(locked()) },
    { weight: 8, take: () => actions.write(locked(), { lock: { with_lock: true } }) },
    { weight: 5, take: () => readUnderLock(locked()) },
    { weight: 4, take: () => actions.beat() },
    { weight: 1, take: () => actAsBefore() },
    { weight: 1, take: () => begin() },
    { weight: 1, take: () => disconnect() },
  ];
  const total = steps.reduce((sum, { weight }) => sum + weight, 0);
  const deck = new Deck(steps, random, () => chooseStep(random.next() * total));

  await begin();
  while (!stop.aborted) {
    const outcome = await deck.draw().take();
    if (outcome?.kind === 'unknown') await delay(BACK_OFF_MS);
    if (outcome?.kind === 'refused' && LOST.has(outcome.reason)) await begin();
  }

  function chooseStep(roll: number): Step {
    let passed = 0;
    const chosen = steps.find(({ weight }) => {
      passed += weight;
      return roll < passed;
    });
    return chosen ?? steps[0];
  }

  async function begin(): Promise<undefined> {
    if (await client.register()) await join();
  }

  async function join(): Promise<void> {
    for (const session_id of [...places.locked, ...places.free]) {
      await client.ask('session_manager.join', { agent_id: client.agent, session_id });
    }
  }

  async function disconnect(): Promise<undefined> {
    client.disconnect();
  }

  async function read(session: string): Promise<Outcome> {
    const key = random.pick([random.pick(places.keys), random.pick(places.counters)]);
    return await actions.read(session, key);
  }

  /** Now and then the holder sleeps past its lease and writes all the same. */
  async function writeUnderLock(session: string): Promise<Outcome> {
    const waitMs = random.below(2) * lockMs;
    const granted = await actions.acquire(session, { mode: 'exclusive', waitMs });
    const token = granted.kind === 'ok' ? granted.result.token : undefined;
    if (token === undefined) return granted;
    if (random.chance(0.3)) await delay(lockMs * (1 + random.next()));
    const lock = { lock_token: token };
    for (let left = random.below(4); left > 0; left -= 1) await actions.write(session, { lock });
    const last = await actions.write(session, { lock });
    return random.chance(0.1) ? last : await actions.release(session, token);
  }

  /** Reads twice, asks whether the lease lived through it, and tries to write under it. */
  async function readUnderLock(session: string): Promise<Outcome> {
    const granted = await actions.acquire(session, { mode: 'shared', waitMs: lockMs });
    const token = granted.kind === 'ok' ? granted.result.token : undefined;
    if (token === undefined) return granted;
    const key = random.pick(places.keys);
    await actions.read(session, key, token);
    await delay((random.next() * lockMs) / 4);
    await actions.read(session, key, token);
    await actions.renew(session, token);
    await actions.write(session, { lock: { lock_token: token } });
    return await actions.release(session, token);
  }

  /** As if the life before this one had only been asleep, perhaps with the lock in its hands. */
  async function actAsBefore(): Promise<undefined> {
    const waitMs = random.below(2) * lockMs;
    const held = await actions.acquire(locked(), { mode: 'exclusive', waitMs });
    const lost = held.kind === 'ok' ? held.result.token : undefined;
    const epoch = client.epoch;
    if (!(await client.register()) || epoch === 0) return;
    const mode = random.pick(['exclusive', 'shared'] as const);
    await actions.beat(epoch);
    await actions.write(free(), { epoch });
    await actions.write(locked(), { epoch, lock: { with_lock: true } });
    if (lost !== undefined) await actions.write(locked(), { epoch, lock: { lock_token: lost } });
    await actions.acquire(locked(), { mode, waitMs, epoch });
    await actions.acquire(locked(), { mode, waitMs: lockMs, isAsync: true, epoch });
    await join();
  }
}

/** The life is over, or with it the place in the session. */
const LOST: ReadonlySet<string> = new Set(['stale_epoch', 'not_found']);
