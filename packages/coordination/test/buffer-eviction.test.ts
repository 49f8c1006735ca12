import { describe, expect, it } from 'vitest';
import { infoKey } from '../src/buffer/chunk-index.ts';
import type { Commit } from '../src/coordination-store.ts';
import { fieldsOf } from '../src/feed/log-event.ts';
import { partitionOf } from '../src/partitions.ts';
import { beforeCommit } from './support/before-commit.ts';
import { World, type WorldOptions } from './support/world.ts';

const session_id = 's';

async function openBuffer(options: WorldOptions = {}) {
  const world = new World(options);
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  await a.call('session_manager.create', { session_id });
  await b.call('session_manager.join', { session_id });
  const put = async (content: string) => {
    world.clock.advance(1);
    return (await a.call('shared_buffer.put', { session_id, content })).chunk_id;
  };
  const bodies = async () => {
    const { entries } = await world.store.read(partitionOf.chunkBodies(session_id));
    return [...entries.values()].map(({ value }) => fieldsOf(value).content).sort();
  };
  return { world, a, b, put, bodies };
}

const isEvictionOf = (chunkId: string) => (partition: string, commit: Commit) =>
  partition === partitionOf.chunks(session_id) &&
  commit.writes.some(({ kind, key }) => kind === 'delete' && key === infoKey(chunkId));

describe('an evicted chunk', () => {
  it('leaves nothing of its content in the store, however it was evicted', async () => {
    const { world, a, put, bodies } = await openBuffer({ limits: { buffer_chunks: 3 } });
    await using _ = world;
    const first = await put('first');
    await put('second');
    await put('third');
    expect(await bodies()).toEqual(['first', 'second', 'third']);
    await a.call('shared_buffer.evict', { session_id, chunk_id: first });
    expect(await bodies()).toEqual(['second', 'third']);
    await a.call('shared_buffer.evict', { session_id, bytes: 1 });
    expect(await bodies()).toEqual(['third']);
    for (const content of ['fourth', 'fifth', 'sixth']) await put(content);
    expect(await bodies()).toEqual(['fifth', 'fourth', 'sixth']);
  });
});

describe('a chunk that somebody retains in the moment in which it is evicted', () => {
  it('stays when it was to be evicted by name', async () => {
    const { world, a, b, put } = await openBuffer();
    await using _ = world;
    const chunk_id = await put('needed');
    const moment = beforeCommit(world.store, isEvictionOf(chunk_id), () =>
      b.call('shared_buffer.put', { session_id, content: 'needed', retain: true }),
    );
    const refusal = await a.refused('shared_buffer.evict', { session_id, chunk_id });
    expect(moment.hasHappened).toBe(true);
    expect(refusal).toMatchObject({ code: -32013, data: { references: ['b'] } });
    expect(await b.call('shared_buffer.get', { session_id, chunk_id })).toMatchObject({
      content: 'needed',
    });
  });

  it('stays when room was to be made, and another goes', async () => {
    const { world, a, b, put, bodies } = await openBuffer();
    await using _ = world;
    const chunk_id = await put('needed');
    const other = await put('other');
    const moment = beforeCommit(world.store, isEvictionOf(chunk_id), () =>
      b.call('shared_buffer.put', { session_id, content: 'needed', retain: true }),
    );
    const gone = await a.call('shared_buffer.evict', { session_id, bytes: 1 });
    expect(moment.hasHappened).toBe(true);
    expect(gone.evicted).toEqual([other]);
    expect(await bodies()).toEqual(['needed']);
    expect((await a.call('shared_buffer.stats', { session_id })).references).toBe(1);
  });
});
