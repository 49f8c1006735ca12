import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { readSse, type SseEvent, SseParser } from '../src/sse.ts';
import {
  ByteSource,
  collect,
  cut,
  cutPlaces,
  drainOf,
  rawServer,
  singleBytes,
} from './fixtures/byte-source.ts';
import { listen } from './fixtures/http-server.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const events = (chunks: Iterable<Uint8Array>, maxEventBytes = 1_024) =>
  readSse(new ByteSource(chunks), { maxEventBytes });
const message = (data: string) => ({ event: 'message', data });

describe('readSse', () => {
  it.each<[string, string, SseEvent[]]>([
    ['nothing', '', []],
    ['one event', 'data: a\n\n', [message('a')]],
    ['one space after the colon dropped', 'data:  a \n\n', [message(' a ')]],
    ['no space needed', 'data:a\n\n', [message('a')]],
    ['data of several lines', 'data: a\ndata\ndata: b\n\n', [message('a\n\nb')]],
    ['empty data', 'data\n\n', [message('')]],
    ['two empty lines of data', 'data:\ndata:\n\n', [message('\n')]],
    ['\\r\\n', 'data: a\r\ndata: b\r\n\r\n', [message('a\nb')]],
    ['\\r', 'data: a\rdata: b\r\r', [message('a\nb')]],
    ['line ends mixed', 'data: a\r\ndata: b\rdata: c\n\r\n', [message('a\nb\nc')]],
    ['a byte order mark', '\uFEFFdata: a\n\n', [message('a')]],
    ['only one byte order mark', '\uFEFF\uFEFFdata: a\n\ndata: b\n\n', [message('b')]],
    ['a byte order mark later on as text', 'data: \uFEFFa\n\n', [message('\uFEFFa')]],
    ['comments', ': hello\n:\ndata: a\n: there\n\n:\n\n', [message('a')]],
    ['an event name', 'event: token\ndata: a\n\n', [{ event: 'token', data: 'a' }]],
    ['the last of two names', 'event: a\nevent: b\ndata\n\n', [{ event: 'b', data: '' }]],
    ['no name kept from a dropped event', 'event: a\n\ndata: b\n\n', [message('b')]],
    ['events without data dropped', 'event: a\nid: 1\n\n', []],
    ['unknown fields ignored', 'datax: a\nDATA: b\n data: c\ndata: d\n\n', [message('d')]],
    ['an event without its blank line dropped', 'data: a\n\ndata: b\n', [message('a')]],
    ['an unfinished line dropped', 'data: a\n\ndata: b', [message('a')]],
    ['a name and a colon in data', 'data: data: a\n\n', [message('data: a')]],
    [
      'the id carried on to later events',
      'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n',
      [{ ...message('a'), id: '1' }, { ...message('b'), id: '1' }, message('c')],
    ],
    ['an id with NUL ignored', 'id: 1\nid: 2\0\ndata: a\n\n', [{ ...message('a'), id: '1' }]],
    ['the id of an event without data', 'id: 7\n\ndata: a\n\n', [{ ...message('a'), id: '7' }]],
    [
      'the reconnection time in force',
      'retry: 2000\n\ndata: a\n\nretry: 1e3\nretry: -5\nretry:\ndata: b\n\n',
      [
        { ...message('a'), retry: 2_000 },
        { ...message('b'), retry: 2_000 },
      ],
    ],
  ])('reads %s', async (_name, text, expected) => {
    expect(await collect(events([utf8(text)]))).toEqual(expected);
    expect(await collect(events(singleBytes(utf8(text))))).toEqual(expected);
  });

  it('agrees with a literal reading of the standard, however the bytes are cut', async () => {
    const piece = fc.constantFrom(
      ...['data', 'data:', 'data: ', 'event:', 'id:', 'retry:', ':', ' ', 'é€😀', '12', '\0'],
      ...['\n', '\r', '\r\n', '\n\n', '\r\r', '\uFEFF'],
    );
    const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(text, cutPlaces, async (text, cuts) => {
        expect(await collect(events(cut(utf8(text), cuts)))).toEqual(literally(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('fails at the same event with the same reason however damaged bytes are cut', async () => {
    const piece = fc.constantFrom('data:', 'a', '\n', '\r', '\n\n', '\xff', '\xc3', '\xa9', '\xed');
    const bytes = fc
      .array(piece, { maxLength: 30 })
      .map((pieces) => Buffer.from(pieces.join(''), 'latin1'));
    await fc.assert(
      fc.asyncProperty(bytes, cutPlaces, async (bytes, cuts) => {
        const whole = await drainOf(events([bytes], 12));
        const parts = await drainOf(events(cut(bytes, cuts), 12));
        expect(parts.items).toEqual(whole.items);
        expect(reasonOf(parts.error)).toEqual(reasonOf(whole.error));
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes an event of exactly the limit, whatever its line ends', async () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const text = `data: é${end}: c${end}${end}`.repeat(3);
      for (const chunks of [[utf8(text)], singleBytes(utf8(text))]) {
        expect(await collect(events(chunks, 11))).toHaveLength(3);
        expect(reasonOf((await drainOf(events(chunks, 10))).error)).toBe('event_too_large');
      }
    }
  });

  it.each([
    ['one endless line', 'x'],
    ['endless data', 'data: x\n'],
    ['endless comments', ': x\n'],
    ['endless fields nobody knows', 'x: x\r\n'],
  ])('gives up on %s while reading, and closes the source', async (_name, text) => {
    const block = utf8(text.repeat(1_024 / text.length));
    const source = new ByteSource(
      (function* endless() {
        for (let count = 0; count < 1_000; count += 1) yield block;
      })(),
    );
    const { items, error } = await drainOf(readSse(source, { maxEventBytes: 10_000 }));
    expect(items).toEqual([]);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'event_too_large', limit: 10_000 },
    });
    expect(source.closed).toBe(true);
    expect(source.taken).toBeLessThan(20);
  });

  it('counts the size of each event from zero', async () => {
    const text = 'data: 0123456789\n\n'.repeat(1_000);
    expect(await collect(events([utf8(text)], 16))).toHaveLength(1_000);
  });

  it('refuses bytes that are not UTF-8, after the events before them', async () => {
    const bytes = Buffer.from('data: a\n\ndata: \xe2\x82\n\ndata: b\n\n', 'latin1');
    const { items, error } = await drainOf(events([bytes]));
    expect(items).toEqual([message('a')]);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'invalid_utf8' } });
  });

  it('cuts off a server that sends 100 MB without a blank line', async () => {
    const block = Buffer.from('data: x\n'.repeat(131_072));
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
    const { error } = await drainOf(readSse(socket, { maxEventBytes: 1_048_576 }));
    expect(reasonOf(error)).toBe('event_too_large');
    expect(socket.destroyed).toBe(true);
    expect(socket.bytesRead).toBeLessThan(4 * 1_048_576);
  });

  it('frees the connection of an HTTP response whose reader stops', async () => {
    await using server = await listen(
      createServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: a\n\ndata: b\n\n');
        response.on('close', () => server.report('closed'));
      }),
    );
    const { body } = await request(server.url);
    for await (const event of readSse(body, { maxEventBytes: 64 })) {
      expect(event).toEqual(message('a'));
      break;
    }
    await expect.poll(() => server.reports).toEqual(['closed']);
  });

  it('yields whole events before a peer resets mid-event, then fails', async () => {
    await using server = await rawServer((socket) => {
      socket.write('data: whole\n\ndata: hal');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const socket = await server.dial();
    const reader = readSse(socket, { maxEventBytes: 64 });
    expect((await reader.next()).value).toEqual(message('whole'));
    socket.write('seen');
    await expect(reader.next()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('SseParser', () => {
  it('gives all events of a chunk in one pass', () => {
    const parser = new SseParser({ maxEventBytes: 64 });
    expect([...parser.push(utf8('data: a\n\ndata: b\n\nda'))]).toEqual([
      message('a'),
      message('b'),
    ]);
    expect([...parser.push(utf8('ta: c\n\r'))]).toEqual([message('c')]);
    expect([...parser.push(utf8('\n'))]).toEqual([]);
  });
});

/** "Parsing an event stream" of the HTML standard, step by step, on the whole text. */
function literally(stream: string): SseEvent[] {
  const lines = stream.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  lines.pop();
  const found: SseEvent[] = [];
  let [data, type, id, retry] = ['', '', '', -1];
  for (const line of lines) {
    if (line === '') {
      if (data !== '') {
        const event = { event: type || 'message', data: data.replace(/\n$/, '') };
        found.push({ ...event, ...(id && { id }), ...(retry >= 0 && { retry }) });
      }
      data = '';
      type = '';
      continue;
    }
    const [, field, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line) ?? [];
    if (field === 'data') data += `${value}\n`;
    if (field === 'event') type = value ?? '';
    if (field === 'id' && !value?.includes('\0')) id = value ?? '';
    if (field === 'retry' && /^[0-9]{1,15}$/.test(value ?? '')) retry = Number(value);
  }
  return found;
}

function reasonOf(error: unknown): unknown {
  return FabricError.is(error) ? error.details.reason : error;
}
