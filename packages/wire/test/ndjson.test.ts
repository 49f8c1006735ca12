import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { PassThrough, type Writable } from 'node:stream';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readNdjson, writeNdjson } from '../src/ndjson.ts';
import { ByteSource, collect, cut, cutPlaces, drainOf, rawServer } from './fixtures/byte-source.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const values = (text: string, maxLineBytes = 1_024) =>
  readNdjson(new ByteSource([utf8(text)]), { maxLineBytes });

describe('readNdjson', () => {
  it('reads one value per line and skips blank ones', async () => {
    const text = '\uFEFF{"a":1}\n\n  \t\r\n[2]\r\nnull\n"é\\n"\ntrue';
    expect(await collect(values(text))).toEqual([{ a: 1 }, [2], null, 'é\n', true]);
  });

  it('names the line that is not JSON, and keeps what it said out of the error', async () => {
    const { items, error } = await drainOf(values('{"a":1}\n\n{"password": hunter2}\n{}\n'));
    expect(items).toEqual([{ a: 1 }]);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'invalid_json', line: 3 },
    });
    expect(FabricError.is(error) && JSON.stringify([error.message, error.details])).not.toContain(
      'hunter2',
    );
    expect(FabricError.is(error) && error.cause).toBeUndefined();
  });

  it('refuses a line over the limit and bytes that are not UTF-8', async () => {
    expect((await drainOf(values('[1]\n[1,2,3,4]\n', 5))).error).toMatchObject({
      details: { reason: 'line_too_long', limit: 5 },
    });
    const source = new ByteSource([Buffer.from('"\xff"\n', 'latin1')]);
    expect((await drainOf(readNdjson(source, { maxLineBytes: 9 }))).error).toMatchObject({
      details: { reason: 'invalid_utf8' },
    });
    expect(source.closed).toBe(true);
  });

  it('makes own properties of __proto__, and leaves Object.prototype alone', async () => {
    const [value] = await collect(values('{"__proto__":{"polluted":true}}\n'));
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect('polluted' in {}).toBe(false);
  });

  it('reads back what was written, however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), cutPlaces, async (written, cuts) => {
        const stream = new PassThrough({ highWaterMark: 1_048_576 });
        for (const value of written) await writeNdjson(stream, value);
        stream.end();
        const bytes = Buffer.concat(await collect(stream));
        const source = new ByteSource(cut(bytes, cuts));
        const read = await collect(readNdjson(source, { maxLineBytes: 1_048_576 }));
        expect(JSON.stringify(read)).toBe(JSON.stringify(written));
      }),
    );
  });
});

describe('writeNdjson', () => {
  it('waits for a full stream to drain', async () => {
    const stream = new PassThrough({ highWaterMark: 8 });
    const { signal } = new AbortController();
    let done = false;
    const write = writeNdjson(stream, 'longer than eight', { signal }).then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    expect(String(stream.read())).toBe('"longer than eight"\n');
    await write;
    expectNoListeners(stream);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('keeps the order of calls that do not wait, with one set of listeners', async () => {
    const stream = new PassThrough({ highWaterMark: 8 });
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    const writes = Promise.all(numbers.map((number) => writeNdjson(stream, { number })));
    expect(stream.listenerCount('drain')).toBe(1);
    const read = readNdjson(stream, { maxLineBytes: 64 });
    for (const number of numbers) expect((await read.next()).value).toEqual({ number });
    await writes;
    expect(stream.listenerCount('drain')).toBe(0);
  });

  it('gives up waiting when the signal aborts, with the reason of the signal', async () => {
    const stream = new PassThrough({ highWaterMark: 8 });
    const controller = new AbortController();
    const write = writeNdjson(stream, 'longer than eight', { signal: controller.signal });
    const reason = new FabricError('TIMEOUT', 'Too slow');
    controller.abort(reason);
    await expect(write).rejects.toBe(reason);
    expectNoListeners(stream);
  });

  it('writes nothing when the signal has aborted already', async () => {
    const stream = new PassThrough();
    await expect(writeNdjson(stream, 1, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect(stream.readableLength).toBe(0);
  });

  it.each([
    ['destroyed', (stream: Writable) => stream.destroy(new Error('broken pipe'))],
    ['closed without an error', (stream: Writable) => stream.destroy()],
  ])('fails when the stream is %s while it waits', async (_name, close) => {
    const stream = new PassThrough({ highWaterMark: 8 });
    stream.on('error', () => {});
    const write = writeNdjson(stream, 'longer than eight');
    close(stream);
    await expect(write).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'input_closed' },
    });
    expect(stream.listenerCount('drain') + stream.listenerCount('close')).toBe(0);
    await expect(writeNdjson(stream, 1)).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' });
  });

  it('fails on a stream that has ended, and on one that ends is content', async () => {
    const stream = new PassThrough({ highWaterMark: 8 });
    const write = writeNdjson(stream, 'longer than eight');
    stream.end();
    stream.resume();
    await write;
    await expect(writeNdjson(stream, 1)).rejects.toMatchObject({
      details: { reason: 'input_closed' },
    });
  });

  it.each([
    [
      'a cycle',
      () => {
        const cycle: unknown[] = [];
        cycle.push(cycle);
        return cycle;
      },
    ],
    ['a bigint', () => 1n],
    ['undefined', () => undefined],
  ])('refuses %s and writes nothing', async (_name, make) => {
    const stream = new PassThrough();
    await expect(writeNdjson(stream, make())).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(stream.readableLength).toBe(0);
  });

  it('stalls at a peer that never reads, and fails when it resets', async () => {
    let peer: import('node:net').Socket | undefined;
    await using server = await rawServer((socket) => {
      socket.pause();
      peer = socket;
    });
    const socket = await server.dial();
    socket.on('error', () => {});
    const block = 'x'.repeat(262_144);
    let written = 0;
    const flood = (async () => {
      for (;;) {
        await writeNdjson(socket, block);
        written += 1;
      }
    })();
    const outcome = flood.catch((error: unknown) => error);
    await expect.poll(() => socket.writableNeedDrain && settled(() => written)).toBe(true);
    expect(socket.writableLength).toBeLessThan(2 * 262_144);
    peer?.resetAndDestroy();
    expect(await outcome).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'input_closed' },
    });
  });

  it('talks to a real child process, and notices when it is gone', async () => {
    const child = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill());
    child.stdin.on('error', () => {});
    const answers = readNdjson(child.stdout, { maxLineBytes: 1_024 });
    await writeNdjson(child.stdin, { hello: 'wörld' });
    expect((await answers.next()).value).toEqual({ hello: 'wörld' });
    child.kill();
    await once(child, 'close');
    await expect(writeNdjson(child.stdin, {})).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' });
    expect((await answers.next()).done).toBe(true);
  });
});

/** True once two looks a few turns of the event loop apart see the same. */
async function settled(look: () => number): Promise<boolean> {
  const before = look();
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return look() === before;
}

function expectNoListeners(stream: Writable): void {
  const fresh = new PassThrough();
  for (const event of ['drain', 'finish', 'close', 'error']) {
    expect([event, stream.listenerCount(event)]).toEqual([event, fresh.listenerCount(event)]);
  }
}
