import { setImmediate as turnEnd } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SentEvents } from '../../src/transports/event-log.ts';
import { HttpReply } from '../../src/transports/reply.ts';
import { FakeResponse } from './fake-response.ts';

const openLog = () => new SentEvents({ most: 1_000_000, kept: 0 });
const nothing = () => {};

describe('an answer over HTTP', () => {
  it('is one JSON object when nothing is said before', async () => {
    const response = new FakeResponse();
    const answer = new HttpReply(response.asResponse, { onGone: nothing, headers: { a: 'b' } });
    answer.finish('{"ok":true}', 201);
    answer.finish('{"ok":false}');
    await expect.poll(() => response.status).toBe(201);
    expect(response.headers).toMatchObject({ 'content-type': 'application/json', a: 'b' });
    expect(response.text).toBe('{"ok":true}');
  });

  it('is a stream as soon as something is said before the result', async () => {
    const response = new FakeResponse();
    const answer = new HttpReply(response.asResponse, { onGone: nothing });
    await answer.send('1');
    answer.finish('2');
    expect(response.headers['content-type']).toContain('text/event-stream');
    expect(response.text).toBe('event: message\ndata: 1\n\nevent: message\ndata: 2\n\n');
    await expect(answer.send('3')).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('is an empty stream for what is not to be answered', () => {
    const response = new FakeResponse();
    new HttpReply(response.asResponse, { onGone: nothing }).finishAll([]);
    expect(response.headers['content-type']).toContain('text/event-stream');
    expect(response.writableEnded).toBe(true);
  });

  it('cuts off a reader that takes nothing for too long', async () => {
    const response = new FakeResponse();
    const options = { onGone: nothing, log: openLog(), stallMs: 20 };
    const answer = new HttpReply(response.asResponse, options);
    await expect(answer.send('x'.repeat(1_000))).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(response.destroyed).toBe(true);
  });

  it('goes on where it was on another connection, also when it is over', async () => {
    const [first, second, third] = [new FakeResponse(), new FakeResponse(), new FakeResponse()];
    const log = openLog();
    const answer = new HttpReply(first.asResponse, { onGone: nothing, log, primes: true });
    await answer.send('1');
    await turnEnd();
    expect(first.text).toBe('id: 1-0\nretry: 1000\ndata: \n\nevent: message\nid: 1-1\ndata: 1\n\n');
    first.destroy();
    await answer.send('2');
    log.resume('1-1', second.asResponse);
    answer.finish('3');
    const rest = 'event: message\nid: 1-2\ndata: 2\n\nevent: message\nid: 1-3\ndata: 3\n\n';
    expect(second.text).toBe(rest);
    log.resume('1-1', third.asResponse);
    expect(third.text).toBe(rest);
    expect(third.writableEnded).toBe(true);
  });

  it('gives its client time to resume, and then says that it is gone', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [first, second] = [new FakeResponse(), new FakeResponse()];
    const log = openLog();
    let gone = 0;
    const onGone = () => {
      gone += 1;
    };
    const answer = new HttpReply(first.asResponse, { onGone, log });
    await answer.send('1');
    await first.leave();
    await vi.advanceTimersByTimeAsync(29_000);
    log.resume('1-1', second.asResponse);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(gone).toBe(0);
    await second.leave();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(gone).toBe(1);
  });

  it('says when its client is gone and cannot resume', async () => {
    const response = new FakeResponse();
    const gone = Promise.withResolvers<void>();
    new HttpReply(response.asResponse, { onGone: gone.resolve, log: openLog() });
    response.destroy();
    await gone.promise;
  });
});
