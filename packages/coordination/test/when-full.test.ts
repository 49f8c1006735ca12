import { describe, expect, it } from 'vitest';
import { countCalls } from './support/counted-calls.ts';
import { type Client, World, type WorldOptions } from './support/world.ts';

const session_id = 's';
const LIMIT = 100;

interface Kind {
  readonly name: string;
  readonly limits: NonNullable<WorldOptions['limits']>;
  put(client: Client, n: number): Promise<unknown>;
  count(client: Client): Promise<number>;
}

const cache = {
  put: (client: Client, n: number) =>
    client.call('tool_cache.put', { tool: 'search', params: { n }, result: n }),
  count: async (client: Client) => (await client.call('tool_cache.stats', {})).entries,
};

const buffer = {
  put: (client: Client, n: number) =>
    client.call('shared_buffer.put', { session_id, content: `chunk ${String(n).padStart(4)}` }),
  count: async (client: Client) =>
    (await client.call('shared_buffer.stats', { session_id })).chunks,
};

const KINDS: readonly Kind[] = [
  { name: 'tool cache', limits: { cache_entries: LIMIT }, ...cache },
  { name: 'shared buffer', limits: { buffer_chunks: LIMIT }, ...buffer },
  { name: 'shared buffer, by bytes,', limits: { buffer_bytes: 10 * LIMIT }, ...buffer },
];

async function openWorld(limits: Kind['limits']) {
  const world = new World({ limits });
  const client = await world.agent('a');
  await client.call('session_manager.create', { session_id });
  return { world, client };
}

describe.each(KINDS)('a full $name', ({ limits, put, count }) => {
  it('costs hardly more per put than one with room', async () => {
    const { world, client } = await openWorld(limits);
    await using _ = world;
    const calls = countCalls(world.store);
    for (let n = 0; n < LIMIT; n += 1) await put(client, n);
    const before = { ...calls };
    for (let n = LIMIT; n < 2 * LIMIT; n += 1) await put(client, n);
    expect(calls.wholeReads - before.wholeReads).toBeLessThanOrEqual(LIMIT / 9);
    expect(calls.reads - before.reads).toBeLessThan(1.5 * before.reads);
    expect(calls.commits - before.commits).toBeLessThan(2.5 * before.commits);
  });

  it('loses a tenth at once, and is never above its limit', async () => {
    const { world, client } = await openWorld(limits);
    await using _ = world;
    const counts: number[] = [];
    for (let n = 0; n < 2 * LIMIT; n += 1) {
      await put(client, n);
      counts.push(await count(client));
    }
    expect(Math.max(...counts)).toBe(LIMIT);
    expect(Math.min(...counts.slice(LIMIT))).toBe(0.9 * LIMIT);
  });

  it('is not above its limit either when many put at once', async () => {
    const { world, client } = await openWorld(limits);
    await using _ = world;
    const counts: number[] = [];
    const puts = Array.from({ length: 3 * LIMIT }, async (_, n) => {
      await put(client, n);
      counts.push(await count(client));
    });
    await Promise.all(puts);
    expect(Math.max(...counts)).toBeLessThanOrEqual(LIMIT);
    expect(await count(client)).toBeGreaterThanOrEqual(0.9 * LIMIT);
  });
});

it('counts a cache seldom that is nearly full and gets the same results again', async () => {
  const { world, client } = await openWorld({ cache_entries: LIMIT });
  await using _ = world;
  for (let n = 1; n < LIMIT; n += 1) await cache.put(client, n);
  const calls = countCalls(world.store);
  for (let n = 0; n < LIMIT; n += 1) await cache.put(client, 1);
  expect(calls.wholeReads).toBeLessThanOrEqual(LIMIT / 9);
});

it('keeps what is referenced when a tenth of a buffer goes', async () => {
  const { world, client } = await openWorld({ buffer_chunks: 20 });
  await using _ = world;
  const content = 'needed';
  const { chunk_id } = await client.call('shared_buffer.put', {
    session_id,
    content,
    retain: true,
  });
  for (let n = 0; n < 60; n += 1) {
    world.clock.advance(1);
    await buffer.put(client, n);
  }
  expect(await client.call('shared_buffer.get', { session_id, chunk_id })).toMatchObject({
    content,
  });
  const { chunks } = await client.call('shared_buffer.list', { session_id });
  const newest = Math.max(...chunks.map(({ at }) => at));
  expect(chunks.filter(({ at }) => newest - at < 18)).toHaveLength(chunks.length - 1);
});

it('loses nothing while there is room, whatever is counted', async () => {
  const { world, client } = await openWorld({ cache_entries: LIMIT });
  await using _ = world;
  for (let n = 0; n < 95; n += 1) await cache.put(client, n);
  for (let n = 0; n < LIMIT; n += 1) await cache.put(client, 0);
  expect(await cache.count(client)).toBe(95);
});

it('loses nothing for a chunk that there can never be room for', async () => {
  const { world, client } = await openWorld({ buffer_bytes: 100 });
  await using _ = world;
  for (let n = 0; n < 5; n += 1) await buffer.put(client, n);
  const large = { session_id, content: 'x'.repeat(101) };
  expect(await client.refused('shared_buffer.put', large)).toMatchObject({
    code: -32016,
    data: { limit: 'buffer_bytes', allowed: 100 },
  });
  expect(await buffer.count(client)).toBe(5);
});
