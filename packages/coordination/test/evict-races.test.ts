import { expect, it } from 'vitest';
import { partitionOf } from '../src/partitions.ts';
import { beforeCommit } from './support/before-commit.ts';
import { World } from './support/world.ts';

const session_id = 's';

it('keeps a chunk whose content is put again while it is evicted', async () => {
  await using world = new World();
  const [a, b] = [await world.agent('a'), await world.agent('b')];
  await a.call('session_manager.create', { session_id });
  await b.call('session_manager.join', { session_id });
  const { chunk_id } = await a.call('shared_buffer.put', { session_id, content: 'same' });
  beforeCommit(
    world.store,
    (partition, { writes }) =>
      partition === partitionOf.chunkBodies(session_id) &&
      writes.some(({ kind }) => kind === 'delete'),
    () => b.call('shared_buffer.put', { session_id, content: 'same', retain: true }),
  );
  await a.call('shared_buffer.evict', { session_id, chunk_id });
  expect((await b.call('shared_buffer.list', { session_id })).chunks).toHaveLength(1);
  const got = await b.call('shared_buffer.get', { session_id, chunk_id });
  expect(got).toMatchObject({ content: 'same' });
});
