import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { type Lane, type LaneLease, Lanes } from '../src/lanes.ts';

const never = new AbortController().signal;
const openLanes = () =>
  new Lanes(() => ({ shared: { close: async () => {} } }) as unknown as Lane, 10);

/** All connections but the main one, each with a call of its own. */
async function fill(lanes: Lanes): Promise<LaneLease[]> {
  lanes.separate();
  return await Promise.all(Array.from({ length: 16 }, () => lanes.acquire(never)));
}

describe('the connections to an agent that asks', () => {
  it('are one, until a question is open on it', async () => {
    const lanes = openLanes();
    const question = lanes.ask(lanes.main, 'ada');
    expect(lanes.sharedLease).toBeUndefined();
    const other = await lanes.acquire(never);
    expect(other.lane).not.toBe(lanes.main);
    question[Symbol.dispose]();
    expect(lanes.sharedLease?.lane).toBe(lanes.main);
  });

  it('are taken from the principal whose questions hold the most of them, oldest first', async () => {
    const lanes = openLanes();
    const leases = await fill(lanes);
    const [bobs, ...adas] = leases.map(({ lane }, n) => lanes.ask(lane, n === 0 ? 'bob' : 'ada'));
    adas[0]?.signal.addEventListener('abort', () => leases[1]?.release?.());
    const got = await lanes.acquire(never);
    expect(got.lane).toBe(leases[1]?.lane);
    expect(bobs?.signal.aborted).toBe(false);
    expect(adas.map(({ signal }) => signal.aborted).filter(Boolean)).toHaveLength(1);
  });

  it('are waited for while calls run on all of them', async () => {
    const lanes = openLanes();
    await fill(lanes);
    const control = new AbortController();
    const waiting = lanes.acquire(control.signal);
    control.abort(new FabricError('TIMEOUT', 'Too late'));
    await expect(waiting).rejects.toMatchObject({ code: 'TIMEOUT', details: { sent: false } });
  });
});
