import { Buffer } from 'node:buffer';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { timerWheelOf } from '../src/deadline.ts';
import { readSse, type SseEvent } from '../src/sse.ts';
import { createSseWriter, SSE_HEADERS, type SseMessage } from '../src/sse-writer.ts';
import { ByteSource, collect, cut, cutPlaces } from './fixtures/byte-source.ts';
import { listen } from './fixtures/http-server.ts';

const BLOCK = 'x'.repeat(65_536);

describe('createSseWriter', () => {
  it('writes events as the standard reads them', async () => {
    const stream = new PassThrough();
    const writer = createSseWriter(stream);
    await writer.send({ data: 'a' });
    await writer.send({ event: 'token', id: '7', data: 'b\nc\r\nd\re' }, { data: '' });
    const closed = writer.close();
    expect(Buffer.concat(await collect(stream)).toString()).toBe(
      'data: a\n\n' + 'event: token\nid: 7\ndata: b\ndata: c\ndata: d\ndata: e\n\n' + 'data: \n\n',
    );
    await closed;
    expect(await writer.closed).toBe('ended');
  });

  it('is read back as it was written, however the bytes are cut', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', ':', 'é', '😀', '\uFEFF') });
    const messages = fc.array(
      fc.record(
        { event: line, id: line, data: fc.string({ unit: fc.constantFrom('a', ' ', '\n', '€') }) },
        { requiredKeys: ['data'] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(messages, cutPlaces, async (messages, cuts) => {
        const stream = new PassThrough({ highWaterMark: 1_048_576 });
        const writer = createSseWriter(stream);
        for (const message of messages) await writer.send(message);
        const closed = writer.close();
        const source = new ByteSource(cut(Buffer.concat(await collect(stream)), cuts));
        await closed;
        const read = await collect(readSse(source, { maxEventBytes: 65_536 }));
        expect(read).toEqual(asRead(messages));
      }),
    );
  });

  it.each<[string, SseMessage]>([
    ['event', { event: 'a\ndata: forged', data: '' }],
    ['event', { event: 'a\r', data: '' }],
    ['id', { id: '1\n\ndata: forged', data: '' }],
    ['id', { id: '1\0', data: '' }],
  ])('refuses a line end in %s and writes nothing: %j', async (field, message) => {
    const stream = new PassThrough();
    const writer = createSseWriter(stream);
    await expect(writer.send({ data: 'fine' }, message)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { field },
    });
    expect(stream.readableLength).toBe(0);
  });

  it('holds the sender back until a slow reader has read', async () => {
    const stream = new PassThrough({ highWaterMark: 16 });
    const writer = createSseWriter(stream);
    let sent = false;
    const sending = writer.send({ data: 'more than sixteen bytes' }).then(() => {
      sent = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([sent, writer.stalledMs > 0]).toEqual([false, true]);
    stream.resume();
    await sending;
    expect(writer.stalledMs).toBe(0);
    expect(stream.listenerCount('drain')).toBe(0);
  });

  it('lets what is sent in one turn of the event loop leave in one piece', async () => {
    const pieces: string[] = [];
    const response = new Writable({
      decodeStrings: false,
      write: (chunk, _encoding, done) => done(void pieces.push(String(chunk))),
      writev: (chunks, done) => done(void pieces.push(chunks.map(({ chunk }) => chunk).join(''))),
    });
    const writer = createSseWriter(response);
    await writer.send({ data: '1' });
    await writer.send({ data: '2' });
    expect(pieces).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    await writer.send({ data: '3' });
    await writer.close();
    expect(pieces).toEqual(['data: 1\n\ndata: 2\n\n', 'data: 3\n\n']);
  });

  it('sends keep-alive comments, but not to a reader that is full', async () => {
    const clock = steppedClock();
    const stream = new PassThrough({ highWaterMark: 16 });
    const writer = createSseWriter(stream, { keepAliveMs: 1_000, clock });
    for (let second = 0; second < 3; second += 1) clock.advance(1_100);
    await new Promise((resolve) => setImmediate(resolve));
    expect([stream.read(), stream.read(), stream.read()].join('')).toBe(':\n\n:\n\n:\n\n');
    const sending = writer.send({ data: 'more than sixteen bytes' });
    for (let second = 0; second < 3; second += 1) clock.advance(1_100);
    await new Promise((resolve) => setImmediate(resolve));
    expect(String(stream.read())).not.toContain(':\n\n');
    await sending;
    const closed = writer.close();
    stream.resume();
    await closed;
    expect(timerWheelOf(clock).size).toBe(0);
  });

  it('rejects with OVERLOADED once the reader takes nothing for stallMs', async () => {
    const clock = steppedClock();
    const stream = new PassThrough({ highWaterMark: 16 });
    const writer = createSseWriter(stream, { stallMs: 500, clock });
    const first = writer.send({ data: 'more than sixteen bytes' });
    const failed = expect(first).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'reader_stalled' },
    });
    clock.advance(300);
    expect(writer.stalledMs).toBe(300);
    const second = writer.send({ data: 'waits for the rest of the same patience' });
    const failedToo = expect(second).rejects.toMatchObject({ code: 'OVERLOADED' });
    clock.advance(300);
    await Promise.all([failed, failedToo]);
    const buffered = stream.writableLength;
    await expect(writer.send({ data: 'refused at once' })).rejects.toMatchObject({
      details: { reason: 'reader_stalled', stalled_ms: 600 },
    });
    expect(stream.writableLength).toBe(buffered);
  });

  it('bounds what waits for the reader when the sender does not', async () => {
    const stream = new PassThrough({ highWaterMark: 1_024 });
    const writer = createSseWriter(stream, { maxBufferedBytes: 262_144 });
    const sends = Array.from({ length: 100 }, () => writer.send({ data: BLOCK }));
    const outcomes = Promise.allSettled(sends);
    expect(stream.writableLength + stream.readableLength).toBeLessThan(5 * 65_536);
    stream.destroy();
    const codes = (await outcomes).map((outcome) =>
      outcome.status === 'rejected' ? FabricError.from(outcome.reason).details.reason : 'sent',
    );
    expect(new Set(codes)).toEqual(new Set(['reader_left', 'buffer_full']));
  });

  it('lets one message over the bound through when nothing else waits', async () => {
    const stream = new PassThrough();
    const writer = createSseWriter(stream, { maxBufferedBytes: 10 });
    stream.resume();
    await writer.send({ data: BLOCK });
  });

  it('rejects with CANCELLED after close', async () => {
    const stream = new PassThrough().resume();
    const writer = createSseWriter(stream);
    await writer.close();
    await writer.close();
    await expect(writer.send({ data: 'late' })).rejects.toMatchObject({
      code: 'CANCELLED',
      details: { reason: 'stream_ended' },
    });
  });

  it('leaves no timer behind when the reader goes', async () => {
    const clock = steppedClock();
    const stream = new PassThrough();
    const writer = createSseWriter(stream, { keepAliveMs: 1_000, clock });
    expect(timerWheelOf(clock).size).toBe(1);
    stream.destroy();
    expect(await writer.closed).toBe('left');
    expect(timerWheelOf(clock).size).toBe(0);
  });

  it('knows at once that a stream is dead', async () => {
    const clock = steppedClock();
    const writer = createSseWriter(new PassThrough().destroy(), { keepAliveMs: 10, clock });
    expect(timerWheelOf(clock).size).toBe(0);
    expect(await writer.closed).toBe('left');
    await expect(writer.send({ data: '' })).rejects.toMatchObject({ code: 'CANCELLED' });
    await writer.close();
  });
});

describe('createSseWriter on an HTTP response', () => {
  it('streams to a client, event by event, and ends cleanly', async () => {
    await using server = await listen(
      createServer(async (_request, response) => {
        response.writeHead(200, SSE_HEADERS);
        await using writer = createSseWriter(response, { keepAliveMs: 5 });
        for (let count = 1; count <= 3; count += 1) {
          await writer.send({ event: 'count', data: String(count) });
        }
        void writer.closed.then((how) => server.report(how));
      }),
    );
    const { headers, body } = await request(server.url);
    const read = await collect(readSse(body, { maxEventBytes: 1_024 }));
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    expect(read.map(({ data }) => data)).toEqual(['1', '2', '3']);
    await expect.poll(() => server.reports).toEqual(['ended']);
  });

  it('stalls, and does not grow, when the peer never reads', async () => {
    const { response, peer } = await openResponse();
    const writer = createSseWriter(response, { stallMs: 150 });
    let sent = 0;
    const flood = async () => {
      for (;;) {
        await writer.send({ data: BLOCK });
        sent += 1;
      }
    };
    await expect(flood()).rejects.toMatchObject({
      code: 'OVERLOADED',
      details: { reason: 'reader_stalled' },
    });
    expect(sent * 65_536).toBeLessThan(64 * 1_048_576);
    expect(response.writableLength).toBeLessThan(3 * 65_536);
    expect(response.listenerCount('drain')).toBe(0);
    await writer.close();
    expect(await writer.closed).toBe('left');
    peer.destroy();
  });

  it('goes on after a pause of the peer, and loses nothing', async () => {
    const { response, peer } = await openResponse();
    const writer = createSseWriter(response);
    const count = 400;
    const flood = (async () => {
      for (let number = 0; number < count; number += 1) {
        await writer.send({ id: String(number), data: BLOCK });
      }
      await writer.close();
    })();
    await expect.poll(() => writer.stalledMs > 0).toBe(true);
    let received = 0;
    peer.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await flood;
    expect(await writer.closed).toBe('ended');
    await expect.poll(() => received).toBeGreaterThan(count * 65_536);
  });

  it.each<[string, (peer: Socket) => void]>([
    ['closes', (peer) => peer.destroy()],
    ['resets', (peer) => peer.resetAndDestroy()],
  ])('rejects a waiting send with CANCELLED when the peer %s', async (_name, leave) => {
    const { response, peer } = await openResponse();
    const writer = createSseWriter(response, { keepAliveMs: 5 });
    const flood = (async () => {
      for (;;) await writer.send({ data: BLOCK });
    })();
    const failed = expect(flood).rejects.toMatchObject({
      code: 'CANCELLED',
      details: { reason: 'reader_left' },
    });
    await expect.poll(() => writer.stalledMs > 0).toBe(true);
    leave(peer);
    await failed;
    expect(await writer.closed).toBe('left');
  });

  it('tells that the peer left, also while nothing is sent', async () => {
    const { response, peer } = await openResponse();
    const writer = createSseWriter(response);
    await writer.send({ data: 'hello' });
    peer.destroy();
    expect(await writer.closed).toBe('left');
    await expect(writer.send({ data: 'late' })).rejects.toMatchObject({
      code: 'CANCELLED',
      details: { reason: 'reader_left' },
    });
  });
});

/** A response to a client that has asked and does not read. */
async function openResponse(): Promise<{ response: ServerResponse; peer: Socket }> {
  const responses = Promise.withResolvers<ServerResponse>();
  const server = await listen(
    createServer((_request, response) => {
      response.writeHead(200, SSE_HEADERS);
      responses.resolve(response);
    }),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const peer = connect(server.port, '127.0.0.1');
  onTestFinished(() => void peer.destroy());
  peer.on('error', () => {});
  peer.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  return { response: await responses.promise, peer };
}

function asRead(messages: readonly SseMessage[]): SseEvent[] {
  let inForce = '';
  return messages.map(({ event, id, data }) => {
    inForce = id ?? inForce;
    return { event: event || 'message', data, ...(inForce && { id: inForce }) };
  });
}

function steppedClock() {
  let time = 0;
  const clock = { monotonic: () => time };
  const advance = (ms: number) => {
    time += ms;
    timerWheelOf(clock).run();
  };
  return Object.assign(clock, { advance });
}
