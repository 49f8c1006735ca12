import { expect, it } from 'vitest';
import { World } from './support/world.ts';

async function open(world: World) {
  const client = await world.agent('a');
  const { session_id } = await client.call('session_manager.create', { mode: 'cas' });
  return { client, session_id };
}

it('says who changed what, why and on which trace', async () => {
  await using world = new World();
  const { client, session_id } = await open(world);
  const other = await world.agent('b');
  await other.call('session_manager.join', { session_id });
  await client.call('context_coordinator.update', { session_id, update: { a: 1 }, cause: 'began' });
  await other.call('context_coordinator.update', {
    session_id,
    op: 'append',
    update: { list: 'x' },
    trace_id: 'trace-1',
    with_lock: true,
  });
  await client.call('context_coordinator.update', { session_id, op: 'patch', update: { a: null } });
  const { events, cursor } = await client.call('context_coordinator.history', { session_id });
  expect(events).toMatchObject([
    { agent_id: 'a', op: 'merge', update: { a: 1 }, cause: 'began', at: world.clock.now() },
    { agent_id: 'b', op: 'append', update: { list: ['x'] }, trace_id: 'trace-1' },
    { agent_id: 'a', op: 'patch', update: {}, removed: ['a'] },
  ]);
  expect(events.map(({ version }) => version)).toEqual(
    events.map(({ version }) => version).sort((a, b) => a - b),
  );
  const page = { session_id, limit: 2 };
  const first = await client.call('context_coordinator.history', page);
  const rest = await client.call('context_coordinator.history', { ...page, after: first.cursor });
  expect([...first.events, ...rest.events]).toEqual(events);
  expect(rest.cursor).toBe(cursor);
  const byOther = await client.call('context_coordinator.history', { session_id, authors: ['b'] });
  expect(byOther.events).toHaveLength(1);
  const ofList = await client.call('context_coordinator.history', { session_id, keys: ['li'] });
  expect(ofList.events.map(({ update }) => update)).toEqual([{ list: ['x'] }]);
});

it('reads the context as it was at any version', async () => {
  await using world = new World();
  const { client, session_id } = await open(world);
  const seen: [number, unknown][] = [[1, {}]];
  const note = async (params: { op?: 'append' | 'increment' | 'replace'; update: object }) => {
    const { version } = await client.call('context_coordinator.update', {
      session_id,
      ...params,
      update: params.update as Record<string, never>,
    });
    const { context } = await client.call('context_coordinator.get', { session_id });
    seen.push([version, context]);
  };
  await note({ update: { a: 1 } });
  await note({ op: 'append', update: { list: [1, 2] } });
  await note({ op: 'increment', update: { n: 5 } });
  await note({ op: 'increment', update: { n: -2, m: 1 } });
  await note({ op: 'replace', update: { z: { deep: true } } });
  for (const [at_version, expected] of seen) {
    const past = await client.call('context_coordinator.get', { session_id, at_version });
    expect(past.context).toEqual(expected);
  }
  const [second, last] = [Number(seen[2]?.[0]), Number(seen[5]?.[0])];
  const diff = await client.call('context_coordinator.diff', {
    session_id,
    from: second,
    to: last,
  });
  expect(diff.changes).toEqual([
    { key: 'a', before: 1 },
    { key: 'list', before: [1, 2] },
    { key: 'z', after: { deep: true } },
  ]);
  const upToNow = await client.call('context_coordinator.diff', { session_id, from: second });
  expect(upToNow.changes).toEqual(diff.changes);
});

it('reads versions that only a snapshot reaches, and says when one is too old', async () => {
  await using world = new World({
    keepEvents: 20,
    limits: { snapshot_every: 5, snapshots_kept: 20 },
  });
  const { client, session_id } = await open(world);
  const versions: number[] = [];
  for (let n = 0; n < 60; n += 1) {
    const { version } = await client.call('context_coordinator.update', {
      session_id,
      update: { n, [`key-${n % 3}`]: n },
    });
    versions.push(version);
  }
  for (const n of [50, 55, 59]) {
    const past = { session_id, at_version: versions[n] ?? 0 };
    const { context } = await client.call('context_coordinator.get', past);
    expect(context.n).toBe(n);
    expect(Object.keys(context)).toHaveLength(4);
  }
  const old = { session_id, at_version: versions[2] ?? 0 };
  expect(await client.refused('context_coordinator.get', old)).toMatchObject({ code: -32004 });
});

it('keeps a bounded number of snapshots', async () => {
  await using world = new World({ limits: { snapshot_every: 2, snapshots_kept: 3 } });
  const { client, session_id } = await open(world);
  for (let n = 0; n < 40; n += 1) {
    await client.call('context_coordinator.update', { session_id, update: { n } });
  }
  await expect
    .poll(async () => (await world.store.read(`history:${session_id}`)).entries.size)
    .toBeLessThanOrEqual(4);
});
