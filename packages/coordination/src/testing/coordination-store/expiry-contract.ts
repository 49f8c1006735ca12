import type { Json } from '@starloom/core';
import { expect, it } from 'vitest';
import type { StoreScenario } from './scenario.ts';

export function expiryContract(scenario: () => StoreScenario): void {
  const put = (key: string, ttlMs: number, onExpire?: Json) =>
    scenario().store.commit('p', { writes: [{ kind: 'put', key, value: 1, ttlMs, onExpire }] });

  it('forgets a key when its time is over, and counts it as absent', async () => {
    await put('a', 1000);
    expect(await scenario().values()).toEqual({ a: 1 });
    await scenario().subject.advance(1500);
    expect(await scenario().values()).toEqual({});
    expect(await scenario().values(['a'])).toEqual({});
    const ifKeys = new Map([['a', 0]]);
    expect(await scenario().put('a', 2, { ifKeys })).toEqual({ ok: true, version: 2 });
  });

  it('tells of expired keys whose owner asked for it, in the order of their times', async () => {
    await put('silent', 400);
    await put('later', 500, { gone: 'later' });
    await put('first', 300, { gone: 'first' });
    await put('stays', 60_000, { gone: 'stays' });
    await scenario().subject.advance(700);
    await scenario().store.tick();
    await scenario().store.tick();
    const events = await scenario().events();
    expect(events.map(({ version, event }) => [version, event])).toEqual([
      [5, { gone: 'first' }],
      [6, { gone: 'later' }],
    ]);
    expect((await scenario().store.read('p')).version).toBe(6);
  });

  it('tells of expiry before what comes after it, tick or no tick', async () => {
    await put('a', 300, 'a is gone');
    await scenario().subject.advance(500);
    expect(await scenario().put('b', 1, { event: 'b is there' })).toEqual({ ok: true, version: 3 });
    expect(await scenario().published()).toEqual(['a is gone', 'b is there']);
  });

  it('restarts with each write of the key, and ends with its deletion', async () => {
    await put('renewed', 500, 'renewed is gone');
    await put('kept', 500, 'kept is gone');
    await put('deleted', 500, 'deleted is gone');
    await scenario().subject.advance(300);
    await put('renewed', 60_000, 'renewed is gone');
    await scenario().put('kept', 'for ever');
    await scenario().store.commit('p', { writes: [{ kind: 'delete', key: 'deleted' }] });
    await scenario().subject.advance(400);
    await scenario().store.tick();
    expect(await scenario().published()).toEqual([]);
    expect(await scenario().values()).toEqual({ renewed: 1, kept: 'for ever' });
  });

  it('leaves a key its time when it is incremented', async () => {
    await put('n', 1000, 'n is gone');
    await scenario().store.commit('p', { writes: [{ kind: 'increment', key: 'n', by: 1 }] });
    expect(await scenario().values()).toEqual({ n: 2 });
    await scenario().subject.advance(1500);
    await scenario().store.tick();
    expect(await scenario().values()).toEqual({});
    expect(await scenario().published()).toEqual(['n is gone']);
  });

  it('wakes watchers of what time did', async () => {
    const seen: number[] = [];
    await scenario().store.watch('p', (version) => seen.push(version));
    await put('a', 300, 'a is gone');
    await scenario().subject.advance(500);
    await scenario().store.tick();
    await expect.poll(() => seen.at(-1)).toBe(2);
  });

  it('forgets what was to expire when the partition is dropped', async () => {
    await put('a', 300, 'a is gone');
    await scenario().store.drop('p');
    await scenario().put('a', 'stays');
    await scenario().subject.advance(500);
    await scenario().store.tick();
    expect(await scenario().values()).toEqual({ a: 'stays' });
    expect(await scenario().published()).toEqual([]);
  });
}
