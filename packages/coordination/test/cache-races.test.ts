import { describe, expect, it } from 'vitest';
import { entryKey } from '../src/cache/cache-index.ts';
import type { Commit } from '../src/coordination-store.ts';
import { beforeCommit, writesKey } from './support/before-commit.ts';
import { World } from './support/world.ts';

const tool = 'search';
const isPut = (_: string, commit: Commit) =>
  writesKey(commit, (key) => key.startsWith(entryKey('')));

describe('the tool cache', () => {
  it.each([
    ['its tool', { tool }],
    ['a tag of it', { tags: ['web'] }],
    ['what it was made from', { dependencies: ['file:a'] }],
  ])('stores no result while %s is invalidated', async (_, what) => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { since } = await a.call('tool_cache.get', { tool });
    const moment = beforeCommit(world.store, isPut, () => b.call('tool_cache.invalidate', what));
    const entry = { tool, result: 'old', tags: ['web'], dependencies: ['file:a'], since };
    expect((await a.call('tool_cache.put', entry)).stored).toBe(false);
    expect(moment.hasHappened).toBe(true);
    expect((await b.call('tool_cache.get', { tool })).hit).toBe(false);
  });

  it('stores a result while another result is invalidated', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const { since } = await a.call('tool_cache.get', { tool });
    const moment = beforeCommit(world.store, isPut, () =>
      b.call('tool_cache.invalidate', { tool: 'other', tags: ['x'] }),
    );
    expect((await a.call('tool_cache.put', { tool, result: 1, since })).stored).toBe(true);
    expect(moment.hasHappened).toBe(true);
    expect((await b.call('tool_cache.get', { tool })).hit).toBe(true);
  });

  it('refuses a result whose claim ends meanwhile, and lets another agent compute', async () => {
    await using world = new World();
    const [a, b] = [await world.agent('a'), await world.agent('b')];
    const claimed = { tool, claim: true, claim_ttl_ms: 1_000 };
    const { claim } = await a.call('tool_cache.get', claimed);
    const moment = beforeCommit(world.store, isPut, async () => world.clock.advance(1_000));
    const refusal = await a.refused('tool_cache.put', { tool, result: 'late', claim });
    expect(moment.hasHappened).toBe(true);
    expect(refusal).toMatchObject({ code: -32015, data: { reason: 'stale_token' } });
    const next = await b.call('tool_cache.get', claimed);
    expect(next).toMatchObject({ hit: false, claim: expect.any(Number) });
  });
});
