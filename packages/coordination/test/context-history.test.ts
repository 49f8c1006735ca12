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

it('reads versions of a context of large values, the present one in any case', async () => {
  await using world = new World({ keepEventBytes: 32 * 1024 * 1024 });
  const { client, session_id } = await open(world);
  const text = 'x'.repeat(1_000_000);
  const versions: number[] = [];
  for (let n = 0; n < 50; n += 1) {
    const params = { session_id, update: { big: { n, text } } };
    versions.push((await client.call('context_coordinator.update', params)).version);
  }
  const at = async (index: number) => {
    const at_version = versions.at(index) ?? 0;
    const { context } = await client.call('context_coordinator.get', { session_id, at_version });
    return (context.big as { n: number }).n;
  };
  expect(await at(-1)).toBe(49);
  expect(await at(-2)).toBe(48);
  expect(await at(-20)).toBe(30);
});

it('begins with the oldest event that is kept when the request names no cursor', async () => {
  await using world = new World({ keepEvents: 20 });
  const { client, session_id } = await open(world);
  for (let n = 0; n < 60; n += 1) {
    await client.call('context_coordinator.update', { session_id, update: { n } });
  }
  const { events, ...rest } = await client.call('context_coordinator.history', { session_id });
  expect(events.map(({ update }) => update.n)).toEqual(
    Array.from({ length: 20 }, (_, n) => 40 + n),
  );
  expect(rest).not.toHaveProperty('snapshot_required');
  const all = await client.call('context_coordinator.events', { session_id, limit: 1_000 });
  expect(all.events).toHaveLength(20);
  const fromZero = { session_id, after: 0 };
  expect(await client.call('context_coordinator.history', fromZero)).toMatchObject({
    events: [],
    snapshot_required: true,
  });
});

it('gives no more than fits into one answer, and where to read on', async () => {
  await using world = new World();
  const { client, session_id } = await open(world);
  const text = 'x'.repeat(900_000);
  for (let n = 0; n < 12; n += 1) {
    await client.call('context_coordinator.update', { session_id, update: { n, text } });
  }
  const seen: unknown[] = [];
  for (let after: number | undefined, pages = 0; seen.length < 12; pages += 1) {
    const params = { session_id, limit: 1_000, ...(after !== undefined && { after }) };
    const page = await client.call('context_coordinator.history', params);
    expect(JSON.stringify(page).length).toBeLessThan(6_000_000);
    seen.push(...page.events.map(({ update }) => update.n));
    after = page.cursor;
    if (pages > 12) return expect.fail('it does not come to an end');
  }
  expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => n));
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
