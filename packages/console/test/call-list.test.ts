import { describe, expect, it } from 'vitest';
import type { CallRow } from '../src/api-types.ts';
import { matchesFilter } from '../src/call-filter.ts';
import { CallList, MAX_ROWS, merge } from '../src/state/call-list.ts';

/** The newest first. */
function createCalls(count: number): CallRow[] {
  return Array.from({ length: count }, (_, index) => ({
    call_id: `call-${index}`,
    trace_id: `trace-${index}`,
    at: new Date(Date.now() - index * 3000).toISOString(),
    duration_ms: 12,
    status: 'ok' as const,
    principal: 'ada',
    face: 'mcp',
    capability: 'reason',
    agent_id: 'percy',
    fallback: false,
  }));
}

const calls = createCalls(20);
const first = calls[0] as CallRow;
const changes = (...rows: CallRow[]) => new Map(rows.map((row) => [row.call_id, row]));
const fresh = (id: string, change: Partial<CallRow> = {}): CallRow => ({
  ...first,
  call_id: id,
  at: new Date(Date.now() + 1000).toISOString(),
  ...change,
});

describe('the list of calls', () => {
  it('puts new calls on top and changes known ones in place', () => {
    const ended = { ...(calls[5] as CallRow), status: 'cancelled' as const };
    const { rows, waiting } = merge(calls, changes(ended, fresh('new')), {}, false);
    expect(rows.map(({ call_id }) => call_id)).toEqual(['new', ...calls.map((row) => row.call_id)]);
    expect(rows[6]).toBe(ended);
    expect(waiting.size).toBe(0);
  });

  it('lets new calls wait while the person reads further down', () => {
    const { rows, waiting } = merge(calls, changes(fresh('new')), {}, true);
    expect(rows).toEqual(calls);
    expect([...waiting.keys()]).toEqual(['new']);
  });

  it('keeps the end of a call that a late line shows as running', () => {
    const { rows } = merge(calls, changes({ ...first, status: 'running' }), {}, false);
    expect(rows[0]).toBe(first);
  });

  it('keeps calls that the stream brings while the list is read', async () => {
    const answer = Promise.withResolvers<Response>();
    using _ = answering(() => answer.promise);
    const list = new CallList({});
    const reading = list.refresh();
    list.take({ type: 'call', call: fresh('new') });
    answer.resolve(pageOf(calls));
    await reading;
    expect(list.rows.value.map(({ call_id }) => call_id)).toContain('new');
    expect(list.rows.value).toHaveLength(calls.length + 1);
    list.close();
  });

  it('reads on while the gateway has looked through a part of the journal alone', async () => {
    const answers = [pageOf([], 'a'), pageOf([], 'b'), pageOf(calls)];
    using asked = answering(async () => answers.shift() ?? pageOf([]));
    const list = new CallList({ status: 'error' });
    const loading: boolean[] = [];
    list.isLoading.subscribe((is) => loading.push(is));
    await list.refresh();
    expect(list.rows.value).toEqual(calls);
    expect(list.isComplete.value).toBe(true);
    expect(loading).toEqual([true, false]);
    expect(asked.cursors).toEqual([null, 'a', 'b']);
  });

  it('is read again when the connection was lost while it was read', async () => {
    const second = Promise.withResolvers<Response>();
    const answers = [Promise.resolve(pageOf(createCalls(200), 'a')), second.promise];
    using asked = answering(() => answers.shift() ?? Promise.resolve(pageOf(calls)));
    const list = new CallList({});
    await list.refresh();
    const reading = list.more();
    await list.refresh();
    second.resolve(pageOf(createCalls(300), 'b'));
    await reading;
    expect(list.rows.value).toEqual(calls);
    expect(asked.cursors).toEqual([null, 'a', null]);
  });

  it('shows only calls that match, and takes out one that no longer does', () => {
    const running = fresh('a', { status: 'running' });
    const filter = { status: 'running' };
    expect(merge([], changes(fresh('b'), running), filter, false).rows).toEqual([running]);
    const ended = { ...running, status: 'ok' as const };
    expect(merge([running], changes(ended), filter, false).rows).toEqual([]);
  });

  it('never holds more rows than it can show', () => {
    const many = createCalls(MAX_ROWS);
    const { rows } = merge(many, changes(fresh('new')), {}, false);
    expect(rows).toHaveLength(MAX_ROWS);
    expect(rows[0]?.call_id).toBe('new');
  });

  it('filters by agent, code, words and duration as the gateway does', () => {
    const call = fresh('a', {
      agent_id: 'percy',
      primary_id: 'flaky',
      status: 'error',
      error_code: 'TIMEOUT',
      duration_ms: 1500,
    });
    expect(matchesFilter(call, { agent: 'flaky' })).toBe(true);
    expect(matchesFilter(call, { agent: 'coder,percy' })).toBe(true);
    expect(matchesFilter(call, { status: 'TIMEOUT' })).toBe(true);
    expect(matchesFilter(call, { status: 'ok' })).toBe(false);
    expect(matchesFilter(call, { q: 'PERCY timeout' })).toBe(true);
    expect(matchesFilter(call, { q: 'percy coder' })).toBe(false);
    expect(matchesFilter(call, { min_ms: '2000' })).toBe(false);
  });
});

function pageOf(calls: readonly CallRow[], next_cursor?: string): Response {
  return Response.json({ ok: true, running: true, scope: 'all', calls, next_cursor });
}

/** A gateway that gives these answers, until the end of the test. */
function answering(answer: () => Promise<Response>) {
  const before = { fetch: globalThis.fetch, location: globalThis.location };
  const cursors: (string | null)[] = [];
  Object.assign(globalThis, {
    fetch: (url: URL) => {
      cursors.push(url.searchParams.get('cursor'));
      return answer();
    },
    location: { href: 'http://127.0.0.1/console/' },
  });
  return { cursors, [Symbol.dispose]: () => void Object.assign(globalThis, before) };
}
