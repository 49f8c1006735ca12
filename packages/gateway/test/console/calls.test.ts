import type { CallTrace, TryLine } from '@starloom/console/api-types';
import { FabricError, type JournalCall, silentLog } from '@starloom/core';
import { openJournal } from '@starloom/journal';
import { describe, expect, it, vi } from 'vitest';
import { answers, fails } from '../test-gateway.ts';
import { openConsoleWorld, type Page } from './console-world.ts';

const WAIT = { timeout: 10_000, interval: 20 };
const percy = { run: answers('hello') };
const flaky = { run: fails(new FabricError('AGENT_OFFLINE', 'It sleeps')) };

async function openJournalWorld(
  agents: Parameters<typeof openConsoleWorld>[0],
  options: Parameters<typeof openConsoleWorld>[1] = {},
) {
  const place = { calls: 1_000, gateway: 'here', log: silentLog };
  const journal = await openJournal({ kind: 'memory' }, place);
  const world = await openConsoleWorld(agents, { ...options, journal });
  return Object.assign(world, { journal });
}

describe('calls on the page', () => {
  it('are listed with filters, newest first, page by page', async () => {
    await using world = await openJournalWorld({ percy, other: percy });
    const page = await world.signIn();
    for (const agent_id of ['percy', 'other', 'percy']) {
      await tryCall(page, { agent_id, capability: 'work' });
    }
    await tryCall(page, { agent_id: 'percy', capability: 'nothing' });
    await world.journal.flushed();
    const all = await page.get('calls');
    expect(all).toMatchObject({ ok: true, scope: 'all' });
    expect(all.calls).toHaveLength(4);
    expect(all.calls[0]).toMatchObject({ status: 'error', face: 'console', principal: 'admin' });
    const of = async (query: string) => (await page.get(`calls?${query}`)).calls.length;
    expect(await of('agent=percy&status=ok')).toBe(2);
    expect(await of('agent=percy,other&status=ok')).toBe(3);
    expect(await of('status=error')).toBe(1);
    expect(await of('status=CAPABILITY_NOT_FOUND')).toBe(1);
    expect(await of('fallback=true')).toBe(0);
    expect(await of('min_ms=100000')).toBe(0);
    expect(await of('principal=nobody')).toBe(0);
    expect(await of('q=OTHER')).toBeGreaterThan(0);
    const first = await page.get('calls?limit=3');
    const second = await page.get(`calls?limit=3&cursor=${first.next_cursor}`);
    const ids = [...first.calls, ...second.calls].map((call) => call.call_id);
    expect(new Set(ids).size).toBe(4);
    expect((await page.send('GET', 'calls?limit=0')).status).toBe(400);
    expect((await page.send('GET', 'calls?min_ms=long')).status).toBe(400);
    expect((await page.send('GET', 'calls?nonsense=1')).status).toBe(400);
  });

  it('are found by what a row shows: who answered, on whose behalf, all words', async () => {
    await using world = await openJournalWorld({ percy });
    const attempt = { node_id: 'n', protocol: 'mcp', began_ms: 0, ms: 1 };
    const attempts = [
      { ...attempt, agent_id: 'first', fallback: false, code: 'TIMEOUT' },
      { ...attempt, agent_id: 'second', fallback: true, code: null },
    ] as const;
    const fell = { agent_id: 'first', attempts, fallback: true, on_behalf_of: 'ada' };
    world.journal.write(entry({ span_id: '1'.repeat(16), ms: 1_500, ...fell }));
    world.journal.write(entry({ span_id: '2'.repeat(16), code: 'CANCELLED' }));
    world.journal.write(entry({ span_id: '3'.repeat(16), capability: null, agent_id: null }));
    await world.journal.flushed();
    const page = await world.signIn();
    const of = async (query: string) =>
      (await page.get(`calls?${query}`)).calls.map(({ call_id }: { call_id: string }) =>
        Number(call_id.split('.')[1]?.[0]),
      );
    expect(await of('agent=second')).toEqual([1]);
    expect(await of('agent=first,percy')).toEqual([2, 1]);
    expect(await of('principal=ada')).toEqual([1]);
    expect(await of('capability=fabric.call')).toEqual([3]);
    expect(await of('q=SECOND%20ada')).toEqual([1]);
    expect(await of('q=second%20percy')).toEqual([]);
    expect(await of('q=attempts')).toEqual([]);
    expect(await of('status=cancelled')).toEqual([2]);
    expect(await of('status=error')).toEqual([]);
    expect(await of('fallback=true')).toEqual([1]);
    expect(await of('fallback=false')).toEqual([3, 2]);
    expect(await of('min_ms=1000')).toEqual([1]);
  });

  it('show where they fell back, step by step', async () => {
    const first = { manifest: { fallbacks: ['percy'] }, ...flaky };
    await using world = await openJournalWorld({ first, percy });
    const page = await world.signIn();
    const lines = await tryCall(page, { agent_id: 'first', capability: 'work' });
    const { trace_id } = lines[0] as Extract<TryLine, { type: 'started' }>;
    const trace: CallTrace & { ok: boolean } = await page.get(`calls/${trace_id}`);
    const [call] = trace.calls;
    expect(call).toMatchObject({
      status: 'ok',
      fallback: true,
      agent_id: 'percy',
      primary_id: 'first',
      chain: [{ kind: 'principal', id: 'admin' }],
      tries: [
        { agent_id: 'first', status: 'error', error_code: 'AGENT_OFFLINE' },
        { agent_id: 'percy', status: 'ok' },
      ],
      again: { agent_id: 'first', capability: 'work' },
    });
    expect(trace.spans.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['call', 'admit', 'route', 'attempt']),
    );
    expect(trace.spans.every(({ start_ms }) => start_ms >= 0)).toBe(true);
    expect((await page.send('GET', `calls/${'0'.repeat(32)}`)).status).toBe(404);
  });

  it('of a chain stand below the call that made them', async () => {
    await using world = await openJournalWorld({ percy });
    const at = Date.now() - 1_000;
    const trace_id = 'a'.repeat(32);
    world.journal.write(entry({ trace_id, span_id: '1'.repeat(16), began_at: at, ms: 500 }));
    const nested = { trace_id, span_id: '2'.repeat(16), began_at: at + 100, ms: 200 };
    const chain = ['percy/work'];
    world.journal.write(entry({ ...nested, depth: 2, chain, agent_id: 'coder' }));
    const page = await world.signIn();
    const trace: CallTrace = await page.get(`calls/${trace_id}`);
    const calls = trace.spans.filter(({ kind }) => kind === 'call');
    expect(calls).toMatchObject([{ start_ms: 0 }, { start_ms: 100, parent: '1'.repeat(16) }]);
    expect(trace.calls[1]?.chain).toMatchObject([{ kind: 'principal' }, { id: 'percy' }]);
    const { edges, nodes } = await page.get('topology');
    expect(edges).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ from: 'principal:admin', to: 'agent:percy', calls: 1 }),
        expect.objectContaining({ from: 'agent:percy', to: 'agent:coder', calls: 1 }),
      ]),
    );
    expect(nodes).toContainEqual(expect.objectContaining({ id: 'agent:percy', kind: 'agent' }));
  });

  it('that go round in a circle are shown as a loop', async () => {
    await using world = await openJournalWorld({ percy });
    const page = await world.signIn();
    const write = (from: string, to: string, n: number) =>
      world.journal.write(
        entry({ span_id: `${n}`.repeat(16), chain: [`${from}/work`], agent_id: to, depth: 2 }),
      );
    write('a', 'b', 1);
    write('b', 'c', 2);
    write('c', 'a', 3);
    write('c', 'd', 4);
    await world.journal.flushed();
    const { loops } = await page.get('topology?window=15m');
    expect(loops).toEqual([['agent:a', 'agent:b', 'agent:c', 'agent:a']]);
  });

  it('of others are seen by those with admin:calls alone', async () => {
    const keys = { alice: ['agent:*'], bob: ['agent:*'], boss: ['admin:calls', 'admin:usage'] };
    await using world = await openJournalWorld({ percy }, { keys });
    const alice = await world.signIn('alice');
    const bob = await world.signIn('bob');
    const boss = await world.signIn('boss');
    const listening = await bob.listen('?topics=calls');
    const watching = await boss.listen('?topics=calls');
    const lines = await tryCall(alice, { agent_id: 'percy', capability: 'work' });
    const { trace_id } = lines[0] as Extract<TryLine, { type: 'started' }>;
    await vi.waitFor(() => {
      const heard = watching.lines.filter(({ type }) => type === 'call');
      expect(heard).toMatchObject([{ call: { principal: 'alice', trace_id } }]);
    }, WAIT);
    expect((await bob.get('calls')).calls).toEqual([]);
    expect((await bob.send('GET', `calls/${trace_id}`)).status).toBe(404);
    expect((await bob.get('overview')).calls.calls).toBe(0);
    expect((await bob.get('topology')).edges).toEqual([]);
    expect((await bob.get('usage')).rows).toEqual([]);
    expect((await bob.get('calls?principal=alice')).calls).toEqual([]);
    expect((await boss.get('calls')).calls).toHaveLength(1);
    expect((await boss.get('usage')).rows).toMatchObject([{ key: 'alice', calls: 1 }]);
    expect((await alice.get('calls')).calls).toHaveLength(1);
    expect(listening.lines.filter(({ type }) => type === 'call')).toEqual([]);
    await listening.close();
    await watching.close();
  });

  it('stream their events to a person that looks, and to others only that there are some', async () => {
    const gate = Promise.withResolvers<void>();
    const run: typeof percy.run = async function* () {
      await gate.promise;
      yield { type: 'token', data: { text: 'private' } };
      yield { type: 'final', data: { answer: 'done' } };
    };
    const keys = { alice: ['agent:*'], bob: ['agent:*'], boss: ['admin:calls'] };
    await using world = await openJournalWorld({ slow: { run } }, { keys });
    const alice = await world.signIn('alice');
    const response = await alice.send('POST', 'try', { capability: 'work' });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const { trace_id } = JSON.parse(first.split('\n')[0] ?? '');
    const query = `?topics=trace&trace=${trace_id}`;
    const own = await alice.listen(query);
    const other = await (await world.signIn('bob')).listen(query);
    const boss = await (await world.signIn('boss')).listen(query);
    gate.resolve();
    await vi.waitFor(() => {
      expect(JSON.stringify(own.lines)).toContain('private');
      expect(boss.lines.some((line) => line.type === 'event')).toBe(true);
      expect(boss.lines.some((line) => line.type === 'call')).toBe(true);
    }, WAIT);
    expect(JSON.stringify(boss.lines)).not.toContain('private');
    expect(other.lines.map(({ type }) => type)).toEqual(['hello']);
    for (const listener of [own, other, boss]) await listener.close();
    await reader?.cancel();
  });

  it('are counted on the overview, in steps', async () => {
    await using world = await openJournalWorld({ percy, flaky: { ...flaky } });
    const page = await world.signIn();
    const empty = await page.get('overview');
    expect(empty.checklist).toMatchObject({ has_agent: true, has_call: false });
    for (let n = 1; n <= 9; n += 1) {
      const failed = n === 9 ? ({ code: 'TIMEOUT', reason: 'slow' } as const) : {};
      world.journal.write(entry({ span_id: `${n}`.repeat(16), ms: n * 10, ...failed }));
    }
    await vi.waitFor(async () => {
      const { calls, checklist } = await page.get('overview?window=15m');
      expect(calls).toMatchObject({ calls: 9, errors: 1, p50_ms: 50, p99_ms: 90 });
      expect(calls.series).toHaveLength(60);
      expect(calls.series.at(-1).calls + calls.series.at(-2).calls).toBe(9);
      expect(calls.by_error).toEqual([{ code: 'TIMEOUT', count: 1 }]);
      expect(calls.slowest[0]).toMatchObject({ duration_ms: 90 });
      expect(calls.failed).toHaveLength(1);
      expect(checklist).toMatchObject({ has_call: true, has_client: true });
    }, WAIT);
    const { agents } = await page.get('agents');
    expect(agents).toContainEqual(
      expect.objectContaining({
        agent_id: 'percy',
        figures: expect.objectContaining({ calls: 9 }),
      }),
    );
  });
});

describe('a page that reads slowly', () => {
  it('loses lines and is told to load again, and the gateway keeps nothing for it', async () => {
    await using world = await openJournalWorld({ percy });
    const page = await world.signIn();
    const response = await page.send('GET', 'events?topics=calls');
    const reader = response.body?.getReader();
    const text = 'x'.repeat(8_000);
    const writing = async (rounds: number) => {
      for (let round = 0; round < rounds; round += 1) {
        for (let n = 0; n < 1_000; n += 1) {
          const span_id = (round * 1_000 + n).toString(16).padStart(16, '0');
          world.journal.write(entry({ span_id, capability: text }));
        }
        await world.journal.flushed();
      }
    };
    await writing(3);
    let read = '';
    const decoder = new TextDecoder();
    await vi.waitFor(
      async () => {
        const { value } = (await reader?.read()) ?? {};
        read += decoder.decode(value, { stream: true });
        expect(read).toContain('"type":"reload"');
      },
      { timeout: 20_000, interval: 1 },
    );
    const lines = read.split('\n').length;
    expect(lines).toBeLessThan(3_000);
    await reader?.cancel();
  });
});

function entry(given: Partial<JournalCall>): JournalCall {
  const began_at = given.began_at ?? Date.now();
  const ms = given.ms ?? 5;
  return {
    trace_id: 'b'.repeat(32),
    span_id: 'b'.repeat(16),
    parent_span_id: null,
    face: 'mcp',
    transport: 'http',
    tool: 'fabric.call',
    principal: 'admin',
    depth: 1,
    chain: [],
    agent_id: 'percy',
    capability: 'work',
    stream: false,
    attempts: [],
    fallback: false,
    events: {},
    first_events: [],
    bytes_in: 1,
    bytes_out: 1,
    code: null,
    ...given,
    began_at,
    ms,
    ended_at: began_at + ms,
  };
}

async function tryCall(page: Page, body: object): Promise<TryLine[]> {
  const text = await (await page.send('POST', 'try', body)).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
