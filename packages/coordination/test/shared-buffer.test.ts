import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../src/partitions.ts';
import { type Client, World, type WorldOptions } from './support/world.ts';

async function open(options: WorldOptions = {}) {
  const world = new World(options);
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  const { session_id } = await a.call('session_manager.create', {});
  await b.call('session_manager.join', { session_id });
  const put = (client: Client, content: string, more = {}) =>
    client.call('shared_buffer.put', { session_id, content, ...more });
  return { world, a, b, session_id, put };
}

describe('shared buffer', () => {
  it('[C9] puts, gets, lists and evicts chunks, and counts', async () => {
    const { world, a, b, session_id, put } = await open();
    await using _ = world;
    const { chunk_id, bytes } = await put(a, 'grüße', { metadata: { topic: 'x' } });
    expect(chunk_id).toBe(`sha256:${createHash('sha256').update('grüße').digest('hex')}`);
    expect(bytes).toBe(7);
    expect(await b.call('shared_buffer.get', { session_id, chunk_id })).toEqual({
      content: 'grüße',
      encoding: 'utf8',
      media_type: 'text/plain',
      bytes: 7,
      metadata: { topic: 'x' },
    });
    const { chunks } = await b.call('shared_buffer.list', { session_id });
    expect(chunks).toMatchObject([{ chunk_id, agent_id: 'a', reads: 1, references: [] }]);
    const evicted = await a.call('shared_buffer.evict', { session_id, chunk_id });
    expect(evicted).toEqual({ evicted: [chunk_id], bytes: 7 });
    const gone = await b.refused('shared_buffer.get', { session_id, chunk_id });
    expect(gone).toMatchObject({ code: -32004, data: { fix: expect.stringContaining('list') } });
    expect(await a.call('shared_buffer.stats', { session_id })).toMatchObject({
      chunks: 0,
      bytes: 0,
      hits: 1,
      misses: 1,
      hit_rate: 0.5,
      evicted: 1,
    });
    await a.call('shared_buffer.stats', { session_id, reset: true });
    expect(await a.call('shared_buffer.stats', { session_id })).toMatchObject({ hits: 0 });
  });

  it('keeps equal content once', async () => {
    const { world, a, b, session_id, put } = await open();
    await using _ = world;
    const first = await put(a, 'same');
    const base64 = Buffer.from('same').toString('base64');
    const second = await put(b, base64, { encoding: 'base64' });
    expect(second).toEqual({ ...first, deduplicated: true });
    expect((await a.call('shared_buffer.list', { session_id })).total).toBe(1);
    expect((await a.call('shared_buffer.stats', { session_id })).deduplicated).toBe(1);
  });

  it('returns text to an agent that put text, also when the same bytes came as base64 before', async () => {
    const { world, a, b, session_id, put } = await open();
    await using _ = world;
    const base64 = Buffer.from('grüße').toString('base64');
    const image = { encoding: 'base64', media_type: 'image/x-greeting' };
    const { chunk_id } = await put(a, base64, image);
    const get = { session_id, chunk_id };
    expect(await b.call('shared_buffer.get', get)).toMatchObject({ content: base64, ...image });
    expect(await put(b, 'grüße')).toMatchObject({
      chunk_id,
      deduplicated: true,
      media_type: 'image/x-greeting',
    });
    const text = { content: 'grüße', encoding: 'utf8', media_type: 'image/x-greeting' };
    expect(await b.call('shared_buffer.get', get)).toMatchObject(text);
    await put(a, base64, image);
    expect(await a.call('shared_buffer.get', get)).toMatchObject(text);
    const { chunks } = await a.call('shared_buffer.list', { session_id });
    expect(chunks).toMatchObject([{ chunk_id, encoding: 'utf8', agent_id: 'a' }]);
  });

  it('writes content as it is asked to, and refuses to call text what is none', async () => {
    const { world, a, session_id, put } = await open();
    await using _ = world;
    const { chunk_id } = await put(a, 'grüße');
    const get = { session_id, chunk_id } as const;
    const base64 = { encoding: 'base64' } as const;
    expect(await a.call('shared_buffer.get', { ...get, ...base64 })).toMatchObject({
      ...base64,
      content: Buffer.from('grüße').toString('base64'),
    });
    const text = { ...get, encoding: 'utf8' } as const;
    expect(await a.call('shared_buffer.get', { ...text, offset: 2, length: 2 })).toMatchObject({
      content: 'ü',
      encoding: 'utf8',
    });
    const half = await a.refused('shared_buffer.get', { ...text, offset: 3, length: 2 });
    expect(half).toMatchObject({ code: -32602, data: { reason: 'bad_params', chunk_id } });
    const bytes = await put(a, Buffer.from([255, 0]).toString('base64'), base64);
    const none = { ...text, chunk_id: bytes.chunk_id };
    expect((await a.refused('shared_buffer.get', none)).code).toBe(-32602);
  });

  it('keeps content whole when it is put in both encodings at once', async () => {
    const { world, a, b, session_id, put } = await open();
    await using _ = world;
    const base64 = Buffer.from('same').toString('base64');
    const answers = await Promise.all([
      put(a, base64, { encoding: 'base64' }),
      put(b, 'same'),
      put(a, base64, { encoding: 'base64' }),
    ]);
    const get = { session_id, chunk_id: answers[0].chunk_id, encoding: 'utf8' } as const;
    expect((await a.call('shared_buffer.get', get)).content).toBe('same');
  });

  it('gives parts by bytes', async () => {
    const { world, a, session_id, put } = await open();
    await using _ = world;
    const { chunk_id } = await put(a, 'grüße');
    const part = { session_id, chunk_id, offset: 2, length: 2 };
    const { content, encoding } = await a.call('shared_buffer.get', part);
    expect(encoding).toBe('base64');
    expect(Buffer.from(content, 'base64').toString()).toBe('ü');
    const rest = await a.call('shared_buffer.get', { session_id, chunk_id, offset: 4 });
    expect(Buffer.from(rest.content, 'base64').toString()).toBe('ße');
  });

  it('refuses content that is not what it says', async () => {
    const { world, a, session_id } = await open();
    await using _ = world;
    const bad = { session_id, content: 'not base64!', encoding: 'base64' };
    expect((await a.refused('shared_buffer.put', bad)).code).toBe(-32602);
    const unknown = { session_id, chunk_id: 'sha256:xyz' };
    expect((await a.refused('shared_buffer.get', unknown)).code).toBe(-32602);
  });

  it('evicts what was not used for longest, but nothing that a present agent needs', async () => {
    const { world, a, b, session_id, put } = await open({ limits: { buffer_bytes: 49 } });
    await using _ = world;
    const ids: string[] = [];
    for (const [n, retain] of [true, false, false, false].entries()) {
      ids.push((await put(b, `chunk ${n}   `, { retain })).chunk_id);
      world.clock.advance(10);
    }
    await a.call('shared_buffer.get', { session_id, chunk_id: ids[1] ?? '' });
    world.clock.advance(10);
    await put(a, 'chunk 4   ');
    const left = async () => {
      const { chunks } = await a.call('shared_buffer.list', { session_id });
      return ids.map((id) => chunks.some(({ chunk_id }) => chunk_id === id));
    };
    expect(await left()).toEqual([true, true, false, true]);
    const pinned = { session_id, chunk_id: ids[0] ?? '' };
    expect(await a.refused('shared_buffer.evict', pinned)).toMatchObject({
      code: -32013,
      data: {
        references: ['b'],
        current_version: expect.any(Number),
        current: { references: ['b'] },
      },
    });
    await b.call('agent_registry.unregister', {});
    const freed = await a.call('shared_buffer.evict', { session_id, bytes: 1 });
    expect(freed.evicted).toEqual([ids[0]]);
    expect((await a.refused('shared_buffer.evict', { session_id })).code).toBe(-32602);
  });

  it('refuses more than there is room for when everything is needed', async () => {
    const { world, a, session_id, put } = await open({ limits: { buffer_chunks: 1 } });
    await using _ = world;
    const { chunk_id } = await put(a, 'one', { retain: true });
    const two = { session_id, content: 'two' };
    expect(await a.refused('shared_buffer.put', two)).toMatchObject({
      code: -32016,
      data: { limit: 'buffer_chunks' },
    });
    await a.call('shared_buffer.evict', { session_id, chunk_id });
    await put(a, 'two');
    await put(a, 'two', { retain: true });
    const { chunks } = await a.call('shared_buffer.list', { session_id });
    expect(chunks).toMatchObject([{ references: ['a'] }]);
  });

  it('refuses a chunk that is too large', async () => {
    const { world, a, session_id } = await open({ limits: { chunk_bytes: 10 } });
    await using _ = world;
    const large = { session_id, content: 'x'.repeat(11) };
    expect(await a.refused('shared_buffer.put', large)).toMatchObject({ code: -32016 });
  });

  it('lists what one agent put', async () => {
    const { world, a, b, session_id, put } = await open();
    await using _ = world;
    await put(a, 'one');
    const { chunk_id } = await put(b, 'two');
    const { chunks } = await a.call('shared_buffer.list', { session_id, by: 'b' });
    expect(chunks.map((chunk) => chunk.chunk_id)).toEqual([chunk_id]);
  });

  it.each([
    ['text', 'long finding', {}],
    ['bytes', 'AP8=', { encoding: 'base64' }],
  ])('gives back %s that were kept before bodies named their encoding', async (_, content, how) => {
    const { world, a, session_id, put } = await open();
    await using __ = world;
    const { chunk_id } = await put(a, content, how);
    const value = content;
    const writes = [{ kind: 'put', key: chunk_id, value }] as const;
    await world.store.commit(partitionOf.chunkBodies(session_id), { writes });
    const got = await a.call('shared_buffer.get', { session_id, chunk_id });
    expect(got).toMatchObject({ content, encoding: 'utf8', ...how });
  });
});
