// What every journal does. `open` gives an empty one that keeps the given number of calls.

import type { Journal, JournalCall } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';

export type OpenForTest = (calls: number) => Promise<Journal>;

const DAY_MS = 86_400_000;
let number = 0;

/** A call that ended well, unless the fields say otherwise. */
export function call(fields: Partial<JournalCall> = {}): JournalCall {
  number += 1;
  const id = (kind: number) =>
    `${kind}0000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
  const began_at = fields.began_at ?? Date.now() - 1_000;
  return {
    trace_id: id(1),
    span_id: id(2),
    parent_span_id: null,
    gateway: 'node-a',
    face: 'mcp',
    transport: 'http',
    tool: 'fabric.call',
    principal: 'alice',
    depth: 1,
    chain: [],
    agent_id: 'coder',
    capability: 'reason',
    stream: false,
    attempts: [],
    fallback: false,
    events: {},
    first_events: [],
    bytes_in: 10,
    bytes_out: 20,
    began_at,
    ended_at: began_at + 100,
    ms: 100,
    code: null,
    ...fields,
  };
}

export function journalContract(open: OpenForTest): void {
  async function opened(calls = 1_000): Promise<Journal> {
    const journal = await open(calls);
    onTestFinished(() => journal.close());
    return journal;
  }

  async function filled(...calls: JournalCall[]): Promise<Journal> {
    const journal = await opened();
    for (const one of calls) journal.write(one);
    await journal.flushed();
    return journal;
  }

  describe('reading', () => {
    it('lists the newest call first, page by page', async () => {
      const calls = Array.from({ length: 5 }, () => call());
      const journal = await filled(...calls);
      const first = await journal.list({}, { limit: 3 });
      expect(first.calls).toEqual(calls.slice(2).reverse());
      const second = await journal.list({}, { limit: 3, before: first.next });
      expect(second.calls).toEqual(calls.slice(0, 2).reverse());
      expect(second.next).toBeUndefined();
    });

    it('gives every field of a call as it was written', async () => {
      const whole: Required<JournalCall> = {
        ...call(),
        parent_span_id: '30000000-0000-4000-8000-000000000001',
        gateway: 'node-a',
        on_behalf_of: 'bob',
        delegate: 'percy',
        chain: ['coder/reason'],
        job_id: 'job-1',
        session_id: 'session-1',
        admitted_ms: 0.125,
        routed_ms: 0.5,
        route: [
          {
            agent_id: 'coder',
            node_id: 'node-a',
            kind: 'primary',
            availability: 'ready',
            reason: 'asked for',
          },
        ],
        skipped: [{ agent_id: 'percy', reason: 'offline' }],
        rule: 'own-agents',
        effect: 'allow',
        attempts: [
          {
            span_id: '40000000-0000-4000-8000-000000000001',
            agent_id: 'coder',
            node_id: 'node-a',
            protocol: 'mcp',
            fallback: false,
            began_ms: 1,
            ms: 2.5,
            code: 'TIMEOUT',
            reason: 'deadline',
            sent: true,
          },
          {
            agent_id: 'percy',
            node_id: 'node-b',
            protocol: 'a2a',
            fallback: true,
            began_ms: 4,
            ms: null,
            code: null,
          },
        ],
        events: { token: 2, artifact: 1 },
        first_events: [['token', 1.5]],
        cost: 0.25,
        code: 'TIMEOUT',
        reason: 'deadline',
        message: 'It took too long',
        input: '{}',
        output: '[]',
      };
      const bare = call({ principal: null, agent_id: null, capability: null });
      const journal = await filled(whole, bare);
      expect((await journal.list({}, { limit: 2 })).calls).toEqual([bare, whole]);
    });

    it('finds calls by every filter, alone and together', async () => {
      const began_at = Date.UTC(2026, 0, 2);
      const failed = call({ code: 'TIMEOUT', message: 'took 100% of "it"', principal: 'bob' });
      const old = call({ began_at, agent_id: 'percy', capability: 'draw', face: 'a2a' });
      const running = call({ ended_at: null, ms: null });
      const journal = await filled(failed, old, running);
      const found = async (filter: Parameters<Journal['list']>[0]) =>
        (await journal.list(filter, { limit: 10 })).calls.map(({ span_id }) => span_id);
      expect(await found({ principal: 'bob' })).toEqual([failed.span_id]);
      expect(await found({ agent_id: 'percy', capability: 'draw' })).toEqual([old.span_id]);
      expect(await found({ face: 'a2a' })).toEqual([old.span_id]);
      expect(await found({ status: 'running' })).toEqual([running.span_id]);
      expect(await found({ status: 'ok' })).toEqual([old.span_id]);
      expect(await found({ status: 'failed' })).toEqual([failed.span_id]);
      expect(await found({ code: 'TIMEOUT' })).toEqual([failed.span_id]);
      expect(await found({ until: began_at + 1 })).toEqual([old.span_id]);
      expect(await found({ since: began_at + 1, status: 'ok' })).toEqual([]);
      expect(await found({ trace_id: old.trace_id })).toEqual([old.span_id]);
      expect(await found({ text: '100% OF "it"' })).toEqual([failed.span_id]);
      expect(await found({ text: '1__%' })).toEqual([]);
      expect(await found({ text: ['bob', 'TIMEOUT'] })).toEqual([failed.span_id]);
      expect(await found({ text: ['bob', 'percy'] })).toEqual([]);
    });

    it('finds calls that took long, and calls that fell back', async () => {
      const slow = call({ ms: 1_500, input: '{"fallback":true}' });
      const attempt = { agent_id: 'a', node_id: 'n', protocol: 'mcp', began_ms: 0, ms: 1 };
      const attempts = [{ ...attempt, fallback: true, code: null }];
      const rescued = call({ ms: 20, fallback: true, attempts });
      const journal = await filled(slow, rescued, call({ ended_at: null, ms: null }));
      const found = async (filter: Parameters<Journal['list']>[0]) =>
        (await journal.list(filter, { limit: 10 })).calls.map(({ span_id }) => span_id);
      expect(await found({ min_ms: 1_000 })).toEqual([slow.span_id]);
      expect(await found({ min_ms: 1_500 })).toEqual([slow.span_id]);
      expect(await found({ min_ms: 1_700 })).toEqual([]);
      expect(await found({ fallback: true })).toEqual([rescued.span_id]);
    });

    it('shows every hop of a trace in the order in which they began', async () => {
      const first = call({ began_at: 1_000 });
      const second = call({ trace_id: first.trace_id, began_at: 1_010, principal: 'percy' });
      const journal = await filled(second, call(), first);
      expect(await journal.get(first.trace_id)).toEqual([first, second]);
      expect(await journal.get(first.trace_id, 'alice')).toEqual([first]);
      expect(await journal.get('none')).toEqual([]);
    });

    it('replaces a call that ran by the same call when it ended', async () => {
      const ended = call();
      const other = call();
      const journal = await filled({ ...ended, ended_at: null, ms: null }, other, ended);
      expect((await journal.list({}, { limit: 10 })).calls).toEqual([ended, other]);
    });

    it('follows new and changed calls that match, from now on and after a cursor', async () => {
      const journal = await filled(call());
      const { cursor } = await journal.list({}, { limit: 1 });
      const stop = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        const options = { signal: stop.signal };
        for await (const one of journal.follow({ principal: 'bob' }, options)) {
          seen.push(`${one.span_id} ${one.code}`);
          if (seen.length === 2) stop.abort();
        }
      })();
      const bobs = call({ principal: 'bob', ended_at: null, ms: null });
      const write = async (...calls: JournalCall[]) => {
        for (const one of calls) journal.write(one);
        await journal.flushed();
      };
      // The reader may have asked for its place later than the first write.
      while (seen.length === 0) await write(call(), bobs);
      await write({ ...bobs, ended_at: 2, ms: 1, code: 'CANCELLED' });
      await following;
      expect(seen.at(-1)).toMatch(bobs.span_id);
      const later = await journal.list({ principal: 'bob' }, { limit: 10, after: cursor });
      expect(later.calls.at(-1)).toMatchObject({ span_id: bobs.span_id });
      const none = await journal.list({}, { limit: 10, after: later.cursor });
      expect(none).toEqual({ calls: [], cursor: later.cursor });
    });
  });

  describe('counting', () => {
    it('sums usage by caller, agent, tool and day, also of calls that left the ring', async () => {
      const journal = await opened(100);
      const noon = Date.UTC(2026, 0, 2, 12);
      const first = call({ began_at: noon, cost: 2 });
      const second = call({ began_at: noon + DAY_MS, principal: 'bob', code: 'TIMEOUT' });
      for (const one of [first, second]) journal.write(one);
      for (let left = 150; left > 0; left -= 1) journal.write(call({ principal: 'carol' }));
      await journal.flushed();
      expect((await journal.list({ principal: 'bob' }, { limit: 1 })).calls).toEqual([]);
      const range = { since: noon, until: noon + 2 * DAY_MS };
      const sums = { calls: 1, failed: 0, ms: 100, cost: 2, bytes_in: 10, bytes_out: 20 };
      expect(await journal.usage({ by: 'caller', ...range })).toEqual([
        { key: 'alice', ...sums },
        { key: 'bob', ...sums, failed: 1, cost: 0 },
      ]);
      expect(await journal.usage({ by: 'day', ...range, principal: 'alice' })).toEqual([
        { key: '2026-01-02', ...sums },
      ]);
      const [agent] = await journal.usage({ by: 'agent' });
      expect(agent).toMatchObject({ key: 'coder', calls: 152, failed: 1 });
      const [tool] = await journal.usage({ by: 'tool' });
      expect(tool).toMatchObject({ key: 'coder/reason', calls: 151 });
    });

    it('adds up callers, agents and tools whose names read the same', async () => {
      const unknown = { code: 'AGENT_OFFLINE' } as const;
      const journal = await filled(
        call({ ...unknown, agent_id: '-' }),
        call({ ...unknown, agent_id: null }),
        call({ ...unknown, agent_id: null, principal: 'al\0ice' }),
        call({ ...unknown, agent_id: null, principal: 'al\ufffdice' }),
      );
      expect(await journal.usage({ by: 'agent' })).toMatchObject([{ key: '-', calls: 4 }]);
      expect(await journal.usage({ by: 'caller' })).toMatchObject([{ calls: 2 }, { calls: 2 }]);
      expect((await journal.check()).lost).toBe(0);
    });

    it('says how many calls ended in a window, how they failed and how long they took', async () => {
      const now = Date.now();
      const took = (ms: number, fields: Partial<JournalCall> = {}) =>
        call({ began_at: now - ms, ended_at: now, ms, ...fields });
      const journal = await filled(
        ...Array.from({ length: 98 }, () => took(100)),
        took(1_000, { agent_id: 'percy' }),
        took(10_000, { agent_id: 'percy', code: 'TIMEOUT' }),
        call({ began_at: now - 10_000_000, ended_at: now - 9_000_000 }),
        call({ ended_at: null, ms: null }),
      );
      const [minute] = await journal.rates([600_000]);
      expect(minute).toMatchObject({ calls: 100, failed: 1, window_ms: 600_000 });
      expect(minute?.p50).toBeGreaterThan(95);
      expect(minute?.p50).toBeLessThan(105);
      expect(minute?.p99).toBeGreaterThan(950);
      expect(minute?.p99).toBeLessThan(1_050);
      expect(minute?.codes).toEqual([{ code: 'TIMEOUT', calls: 1 }]);
      expect(minute?.agents.map(({ agent_id, calls }) => [agent_id, calls])).toEqual([
        ['coder', 98],
        ['percy', 2],
      ]);
    });
  });

  describe('keeping', () => {
    it('holds its size, however many calls there are', async () => {
      const journal = await opened(200);
      for (let left = 5_000; left > 0; left -= 1) journal.write(call());
      await journal.flushed();
      const { calls, lost } = await journal.check();
      expect(lost).toBe(0);
      expect(calls).toBeGreaterThanOrEqual(200);
      expect(calls).toBeLessThanOrEqual(220);
    });

    it('loses what it has no time for, and counts it', async () => {
      const journal = await opened(100);
      for (let left = 20_500; left > 0; left -= 1) journal.write(call());
      await journal.flushed();
      expect((await journal.check()).lost).toBe(500);
    });

    it('keeps hostile text in every field as it is', async () => {
      const hostile = `\u001b[2J\0"'\\;DROP TABLE call;--\u202e\ud800%_~?$1\r\n</script>`;
      const fields = ['transport', 'tool', 'principal', 'on_behalf_of', 'delegate', 'gateway'];
      const more = ['agent_id', 'capability', 'reason', 'message', 'rule', 'input', 'session_id'];
      const given = Object.fromEntries([...fields, ...more].map((name) => [name, hostile]));
      const one = call({ ...given, chain: [hostile] });
      const journal = await filled(one);
      const kept = JSON.parse(JSON.stringify(one));
      expect((await journal.list({}, { limit: 1 })).calls).toEqual([kept]);
      expect((await journal.list({ principal: hostile }, { limit: 1 })).calls).toEqual([kept]);
      expect((await journal.list({ text: 'drop table' }, { limit: 1 })).calls).toEqual([kept]);
      const [usage] = await journal.usage({ by: 'caller' });
      expect(usage?.calls).toBe(1);
    });

    it('takes calls of a clock that jumps, in the order in which they were written', async () => {
      const year = 365 * DAY_MS;
      const now = Date.now();
      const calls = [now, now - year, 8.64e15 / 2, now - 1].map((began_at) =>
        call({ began_at, ended_at: began_at + 100 }),
      );
      const journal = await filled(...calls);
      expect((await journal.list({}, { limit: 10 })).calls).toEqual(calls.toReversed());
      const [minute] = await journal.rates([60_000]);
      expect(minute?.calls).toBe(2);
      const days = await journal.usage({ by: 'day' });
      expect(days.length).toBeGreaterThanOrEqual(3);
    });

    it('removes everything that is kept of a principal', async () => {
      const journal = await filled(
        call({ principal: 'bob' }),
        call({ principal: 'percy', on_behalf_of: 'bob' }),
        call(),
      );
      journal.write(call({ principal: 'bob' }));
      expect(await journal.erase('bob')).toBe(3);
      expect((await journal.list({}, { limit: 10 })).calls).toHaveLength(1);
      const callers = await journal.usage({ by: 'caller' });
      expect(callers.map(({ key }) => key)).toEqual(['alice', 'percy']);
    });

    it('writes what waits before it closes, and refuses to be read after that', async () => {
      const journal = await opened();
      journal.write(call());
      await journal.close();
      journal.write(call());
      await expect(journal.list({}, { limit: 1 })).rejects.toMatchObject({ code: 'OVERLOADED' });
    });
  });
}
