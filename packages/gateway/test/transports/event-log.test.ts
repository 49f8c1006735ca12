import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type KeptStream, SentEvents } from '../../src/transports/event-log.ts';

const response = {} as ServerResponse;

/** A stream that remembers what was resumed. */
function openStream(log: SentEvents) {
  const resumed: (readonly string[])[] = [];
  const stream: KeptStream = log.open({
    resume: (_, after) => resumed.push(stream.after(after).map(({ text }) => text)),
  });
  return { stream, resumed };
}

const open = (most = 1_000_000, limits = { events: 4, characters: 1_000 }) => {
  const budget = { most, kept: 0 };
  return { budget, log: new SentEvents(budget, limits) };
};

describe('events that are kept for clients that resume', () => {
  it('are those of the same stream, after the one that the client has', () => {
    const { log } = open();
    const one = openStream(log);
    const other = openStream(log);
    const first = log.keep(one.stream, 'a');
    log.keep(other.stream, 'x');
    const second = log.keep(one.stream, 'b');
    log.resume(first, response);
    log.resume(second, response);
    log.resume(`${one.stream.name}-0`, response);
    expect(one.resumed).toEqual([['b'], [], ['a', 'b']]);
    expect(other.resumed).toEqual([]);
  });

  it('are so many and so long at most; the oldest go first, and cannot be resumed from', () => {
    const { log, budget } = open();
    const { stream, resumed } = openStream(log);
    const ids = ['1', '2', '3', '4', '5', '6'].map((text) => log.keep(stream, text));
    const [first = '', second = ''] = ids;
    expect(() => log.resume(first, response)).toThrow(/no longer/);
    log.resume(second, response);
    expect(resumed).toEqual([['3', '4', '5', '6']]);
    log.keep(stream, 'x'.repeat(998));
    expect(budget.kept).toBeLessThanOrEqual(1_000);
    const large = log.keep(stream, 'x'.repeat(2_000));
    expect(budget.kept).toBe(0);
    log.resume(large, response);
    expect(resumed.at(-1)).toEqual([]);
  });

  it('are bounded over all sessions together', () => {
    const budget = { most: 100, kept: 0 };
    const logs = Array.from({ length: 50 }, () => new SentEvents(budget));
    for (const log of logs) log.keep(openStream(log).stream, 'x'.repeat(10));
    expect(budget.kept).toBe(100);
    for (const log of logs) log.close();
    expect(budget.kept).toBe(0);
  });

  it('are forgotten with their stream, once that is over and they are dropped', () => {
    const { log } = open();
    const { stream } = openStream(log);
    const id = log.keep(stream, 'a');
    log.end(stream);
    log.resume(id, response);
    const other = openStream(log).stream;
    for (let n = 0; n < 4; n += 1) log.keep(other, 'b');
    expect(() => log.resume(id, response)).toThrow(/no longer/);
  });

  it.each(['', '1', '1-', '-1', '1-2', '2-1', 'a-b', '1-1-1', `${'1'.repeat(20)}-1`])(
    'are not found by the id "%s"',
    (id) => {
      const { log } = open();
      log.keep(openStream(log).stream, 'a');
      expect(() => log.resume(id, response)).toThrow(
        expect.objectContaining({ code: 'BAD_INPUT' }),
      );
    },
  );
});
