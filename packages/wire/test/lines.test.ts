import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLines } from '../src/lines.ts';
import {
  ByteSource,
  collect,
  cut,
  cutPlaces,
  drainOf,
  rawServer,
  singleBytes,
} from './fixtures/byte-source.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const lines = (chunks: Iterable<Uint8Array>, maxLineBytes = 1_024) =>
  readLines(new ByteSource(chunks), { maxLineBytes });

describe('readLines', () => {
  it.each([
    ['', []],
    ['\n', ['']],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['a\rb\n', ['a\rb']],
    ['a\r\r\n', ['a\r']],
    ['a\r', ['a']],
    ['\n\na', ['', '', 'a']],
    ['\r\n\r\n', ['', '']],
    ['é\n€\n😀', ['é', '€', '😀']],
    ['\uFEFFa\n', ['\uFEFFa']],
  ])('splits %j into %j', async (text, expected) => {
    expect(await collect(lines([utf8(text)]))).toEqual(expected);
    expect(await collect(lines(singleBytes(utf8(text))))).toEqual(expected);
  });

  it('yields the same lines however the bytes are cut', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\r', '\n', '\uFEFF') });
    await fc.assert(
      fc.asyncProperty(text, cutPlaces, async (text, cuts) => {
        const expected = text.split('\n').map((line) => line.replace(/\r$/, ''));
        if (text === '' || text.endsWith('\n')) expected.pop();
        expect(await collect(lines(cut(utf8(text), cuts)))).toEqual(expected);
      }),
    );
  });

  it('fails at the same line with the same reason however damaged bytes are cut', async () => {
    const byte = fc.constantFrom(0x61, 0x0a, 0x0d, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xff, 0xed, 0xa0);
    const bytes = fc
      .uint8Array({ maxLength: 40 })
      .chain(({ length }) =>
        fc
          .array(byte, { minLength: length, maxLength: length })
          .map((list) => Uint8Array.from(list)),
      );
    await fc.assert(
      fc.asyncProperty(bytes, cutPlaces, async (bytes, cuts) => {
        const whole = await drainOf(lines([bytes], 6));
        const parts = await drainOf(lines(cut(bytes, cuts), 6));
        expect(parts.items).toEqual(whole.items);
        expect(reasonOf(parts.error)).toEqual(reasonOf(whole.error));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong form', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a code point cut short by the line end', [0xe2, 0x82]],
    ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('refuses %s, after the lines before it', async (_name, bad) => {
    const { items, error } = await drainOf(
      lines([Buffer.concat([utf8('first\nsécond\n'), Uint8Array.from(bad), utf8('\nlast\n')])]),
    );
    expect(items).toEqual(['first', 'sécond']);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'invalid_utf8' } });
  });

  it('takes a line of exactly the limit, counted in bytes without its line end', async () => {
    expect(await collect(lines([utf8('éé\r\n'), utf8('abcd')], 4))).toEqual(['éé', 'abcd']);
    expect(await collect(lines(singleBytes(utf8('éé\r\nabcd\r')), 4))).toEqual(['éé', 'abcd']);
  });

  it.each([
    ['whole', [utf8('ok\nabcde\n')]],
    ['in bytes', singleBytes(utf8('ok\nabcde\n'))],
    ['of wide characters', [utf8('ok\nééé\n')]],
  ])(
    'refuses a line over the limit that comes %s, after the lines before it',
    async (_n, chunks) => {
      const { items, error } = await drainOf(lines(chunks, 4));
      expect(items).toEqual(['ok']);
      expect(error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'line_too_long', limit: 4 },
      });
    },
  );

  it('reports bad lines in turn and goes on where the caller asks for it, however they are cut', async () => {
    const text = Buffer.concat([
      utf8('one\nfar too long\ntwo\n'),
      Uint8Array.of(0xff, 0x0a),
      utf8('éééé\r\nthree\n'),
      utf8('this line has no end'),
    ]);
    const expected = ['one', 'line_too_long', 'two', 'invalid_utf8', 'line_too_long', 'three'];
    await fc.assert(
      fc.asyncProperty(cutPlaces, async (cuts) => {
        const seen: string[] = [];
        const options = { maxLineBytes: 6, onBadLine: (why: string) => seen.push(why) };
        for await (const line of readLines(new ByteSource(cut(text, cuts)), options)) {
          seen.push(line);
        }
        expect(seen).toEqual([...expected, 'line_too_long']);
      }),
      { numRuns: 300 },
    );
  });

  it('hears of an endless line once, holds none of it, and reads the next', async () => {
    const block = new Uint8Array(1_048_576).fill(0x61);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const source = new ByteSource(
      (function* longLine() {
        for (let count = 0; count < 200; count += 1) {
          yield block;
          most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        }
        yield utf8('\nnext\n');
      })(),
    );
    const seen: string[] = [];
    const onBadLine = (why: string) => seen.push(why);
    const read = await collect(readLines(source, { maxLineBytes: 4 * 1_048_576, onBadLine }));
    expect({ read, seen }).toEqual({ read: ['next'], seen: ['line_too_long'] });
    expect(most).toBeLessThan(64 * 1_048_576);
  });

  it('gives up on an endless line while reading, and closes the source', async () => {
    const block = new Uint8Array(1_024).fill(0x61);
    const source = new ByteSource(
      (function* endless() {
        for (let count = 0; count < 1_000; count += 1) yield block;
      })(),
    );
    const { error } = await drainOf(readLines(source, { maxLineBytes: 10_000 }));
    expect(reasonOf(error)).toBe('line_too_long');
    expect(source).toMatchObject({ taken: 10, closed: true });
  });

  it('closes the source when the consumer stops early', async () => {
    const source = new ByteSource([utf8('a\nb\n'), utf8('c\n')]);
    for await (const line of readLines(source, { maxLineBytes: 10 })) {
      expect(line).toBe('a');
      break;
    }
    expect(source).toMatchObject({ taken: 1, closed: true });
  });

  it('passes on the failure of its source', async () => {
    const failure = new Error('the disk is gone');
    const { items, error } = await drainOf(
      lines(
        (function* failing() {
          yield utf8('a\nb');
          throw failure;
        })(),
      ),
    );
    expect(items).toEqual(['a']);
    expect(error).toBe(failure);
  });

  it('reads a long line that arrives byte by byte in linear time', async () => {
    const length = 1_048_576;
    const byte = utf8('a');
    const source = new ByteSource(
      (function* bytes() {
        for (let count = 0; count < length; count += 1) yield byte;
      })(),
    );
    const [line, ...rest] = await collect(readLines(source, { maxLineBytes: length }));
    expect([line?.length, rest]).toEqual([length, []]);
  });

  it('does not share memory with chunks that the source reuses', async () => {
    const chunk = new Uint8Array(3);
    const source = new ByteSource(
      (function* reusing() {
        for (const text of ['ab\n', 'cde', 'fg\n']) {
          chunk.set(utf8(text));
          yield chunk;
        }
      })(),
    );
    expect(await collect(readLines(source, { maxLineBytes: 10 }))).toEqual(['ab', 'cdefg']);
  });

  it('cuts off a peer that sends 100 MB without a line end', async () => {
    const block = Buffer.alloc(1_048_576, 'x');
    await using server = await rawServer((socket) => {
      let left = 100;
      const fill = () => {
        while (left > 0 && !socket.destroyed) {
          left -= 1;
          if (!socket.write(block)) return;
        }
      };
      socket.on('drain', fill);
      fill();
    });
    const socket = await server.dial();
    const { error } = await drainOf(readLines(socket, { maxLineBytes: 1_048_576 }));
    expect(reasonOf(error)).toBe('line_too_long');
    expect(socket.destroyed).toBe(true);
    expect(socket.bytesRead).toBeLessThan(4 * 1_048_576);
  });

  it('reads from a peer that writes one byte at a time, code points split', async () => {
    const text = 'naïve\r\n€uro\n😀 done';
    await using server = await rawServer(async (socket) => {
      socket.setNoDelay(true);
      for (const byte of singleBytes(utf8(text))) {
        if (!socket.write(byte)) await once(socket, 'drain');
        await new Promise((resolve) => setImmediate(resolve));
      }
      socket.end();
    });
    expect(await collect(readLines(await server.dial(), { maxLineBytes: 64 }))).toEqual([
      'naïve',
      '€uro',
      '😀 done',
    ]);
  });

  it('yields what was whole before a peer resets the connection, then fails', async () => {
    await using server = await rawServer((socket) => {
      socket.write('whole\nhal');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const socket = await server.dial();
    const reader = readLines(socket, { maxLineBytes: 64 });
    expect(await reader.next()).toEqual({ value: 'whole', done: false });
    socket.write('seen');
    await expect(reader.next()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

function reasonOf(error: unknown): unknown {
  return FabricError.is(error) ? error.details.reason : error;
}
