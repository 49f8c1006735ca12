import { FabricError, type Fields, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import {
  type LinkChannel,
  MAX_UNREAD_LENGTH,
  NodeLink,
  type ServedStream,
} from '../src/node-link/index.ts';

import { channelPair } from './fixtures/channel-pair.ts';

type Serve = (stream: ServedStream) => Promise<unknown>;

const never = () => new AbortController().signal;
const refuse: Serve = async () => {
  throw new FabricError('BAD_INPUT', 'Not served');
};

function open(serve: Serve = refuse, { maxServed = 10, serveBack = refuse } = {}) {
  const { channels, sides, close } = channelPair();
  const toLink = (channel: LinkChannel | undefined, served: Serve, peer: string) =>
    new NodeLink({
      channel: channel as LinkChannel,
      serve: served,
      peer,
      log: silentLog,
      maxServed,
    });
  const near = toLink(channels[0], serveBack, 'the far side');
  const far = toLink(channels[1], serve, 'the near side');
  const [nearSide, farSide] = sides;
  return {
    near,
    far,
    close,
    /** As if the other side had sent it. */
    toNear: (frame: unknown) => nearSide?.onText(JSON.stringify(frame)),
    toFar: (frame: unknown) => farSide?.onText(JSON.stringify(frame)),
    sentByNear: () => (nearSide?.sent ?? []).map((text) => JSON.parse(text) as Fields),
  };
}

async function collect(stream: AsyncGenerator<unknown, unknown>) {
  const items: unknown[] = [];
  while (true) {
    const { done, value } = await stream.next();
    if (done) return { items, value };
    items.push(value);
  }
}

describe('a link between gateway and node', () => {
  it('carries many streams at once, in both directions, each with its own items and end', async () => {
    const echo: Serve = async ({ params }) => params.word;
    const counting: Serve = async (stream) => {
      for (let n = 1; n <= 3; n += 1) await stream.send({ word: stream.params.word, n });
      return stream.params.word;
    };
    const { near, far } = open(counting, { serveBack: echo });
    const words = ['a', 'b', 'c'];
    const ends = await Promise.all(
      words.map((word) => collect(near.open('count', { word }, { signal: never() }))),
    );
    for (const [index, word] of words.entries()) {
      expect(ends[index]).toEqual({ items: [1, 2, 3].map((n) => ({ word, n })), value: word });
    }
    expect(await far.request('echo', { word: 'back' }, { signal: never() })).toBe('back');
    expect(far.served).toBe(0);
  });

  it('keeps code, details and the answer of an error', async () => {
    const { near } = open(async () => {
      throw new FabricError('UPSTREAM_ERROR', 'As asked', {
        details: { reason: 'tool_error', sent: true },
        answer: { isError: true },
      });
    });
    const error = await near.request('x', {}, { signal: never() }).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      message: 'As asked',
      details: { reason: 'tool_error', sent: true },
      answer: { isError: true },
    });
  });

  it('holds the sender back when the reader does not read, and lets it go on when it does', async () => {
    let sent = 0;
    const piece = 'x'.repeat(10_000);
    const { near } = open(async (stream) => {
      for (; sent < 100; sent += 1) await stream.send(piece);
      return 'all';
    });
    const stream = near.open('x', {}, { signal: never() });
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(sent).toBeLessThanOrEqual(MAX_UNREAD_LENGTH / piece.length + 2);
    expect((await collect(stream)).items).toHaveLength(99);
  });

  it('ends a stream whose sender ignores the room it has', async () => {
    const { near, toNear } = open(() => new Promise(() => {}));
    const stream = near.open('x', {}, { signal: never() });
    const first = stream.next();
    const value = 'x'.repeat(MAX_UNREAD_LENGTH);
    toNear({ type: 'item', id: 1, value });
    await first;
    for (let n = 0; n < 3; n += 1) toNear({ type: 'item', id: 1, value });
    const error = await collect(stream).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'link_window' } });
    expect(near.isOpen).toBe(true);
  });

  it('cancels a stream at the other side with the reason of the signal', async () => {
    const reasons: FabricError[] = [];
    const { near, far } = open(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    );
    const control = new AbortController();
    const ended = near.request('x', {}, { signal: control.signal });
    await expect.poll(() => far.served).toBe(1);
    control.abort(new FabricError('TIMEOUT', 'Too slow'));
    await expect(ended).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect.poll(() => reasons).toMatchObject([{ code: 'TIMEOUT', message: 'Too slow' }]);
    await expect.poll(() => far.served).toBe(0);
  });

  it('takes questions to the side that opened the stream, and takes them back', async () => {
    const withdrawn = Promise.withResolvers<void>();
    const { near } = open(async (stream) => {
      const name = await stream.ask('name', { of: 'you' });
      const control = new AbortController();
      const open = stream.ask('wait', {}, control.signal);
      control.abort();
      return [name, await open];
    });
    const onAsk = async (method: string, { of }: Fields, signal: AbortSignal) => {
      if (method === 'name') return `${of}, Ada`;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      withdrawn.resolve();
      return 'withdrawn';
    };
    expect(await near.request('x', {}, { signal: never(), onAsk })).toEqual([
      'you, Ada',
      'withdrawn',
    ]);
    await withdrawn.promise;
  });

  it('refuses more streams than the other side may have', async () => {
    const { near } = open(() => new Promise(() => {}), { maxServed: 1 });
    void near.request('x', {}, { signal: never() }).catch(() => {});
    const second = near.request('x', {}, { signal: never() });
    await expect(second).rejects.toMatchObject({ code: 'OVERLOADED' });
  });

  it('ends every stream with AGENT_OFFLINE when the connection is lost, and says what was sent', async () => {
    const cut: boolean[] = [];
    const { near, far, close } = open((stream) => {
      const { signal } = stream;
      signal.addEventListener('abort', () => cut.push(stream.isCut));
      return new Promise(() => {});
    });
    const ended = near.request('x', {}, { signal: never() });
    await expect.poll(() => far.served).toBe(1);
    close();
    const lost = { code: 'AGENT_OFFLINE', details: { reason: 'link_lost', sent: true } };
    await expect(ended).rejects.toMatchObject(lost);
    await expect.poll(() => cut).toEqual([true]);
    const late = near.request('x', {}, { signal: never() });
    await expect(late).rejects.toMatchObject({ details: { sent: false } });
  });

  it('ends its streams as sent and offline, whatever reason the other side gives for closing', async () => {
    const { near, far } = open(() => new Promise(() => {}));
    const ended = near.request('x', {}, { signal: never() });
    await expect.poll(() => far.served).toBe(1);
    far.close(new FabricError('BAD_INPUT', 'Because', { details: { sent: false } }));
    await expect(ended).rejects.toMatchObject({ code: 'AGENT_OFFLINE', details: { sent: true } });
    expect(await near.closed).toMatchObject({ code: 'BAD_INPUT', message: 'Because' });
  });

  it('closes on a message for a stream that was never opened, and ignores a late one', async () => {
    const { near, toNear, sentByNear } = open(async () => 'done');
    await near.request('x', {}, { signal: never() });
    toNear({ type: 'item', id: 1, value: 'late' });
    expect(near.isOpen).toBe(true);
    toNear({ type: 'end', id: 2, value: 'never asked for' });
    const reason = await near.closed;
    expect(reason.details).toMatchObject({ reason: 'link_protocol' });
    expect(sentByNear().at(-1)).toMatchObject({ type: 'close', error: { code: 'UPSTREAM_ERROR' } });
  });

  it.each([
    ['text that is no JSON', '{"type":'],
    ['a type that is not known', '{"type":"steal","id":1}'],
    ['a key of a prototype as type', '{"type":"__proto__","id":1}'],
    ['no id', '{"type":"end"}'],
    ['an id below zero', '{"type":"end","id":-1}'],
    ['an open without a method', '{"type":"open","id":1,"params":{}}'],
    ['a list', '[]'],
  ])('closes on %s', async (_, text) => {
    const { channels, sides } = channelPair();
    const link = new NodeLink({
      channel: channels[0] as LinkChannel,
      serve: refuse,
      peer: 'x',
      log: silentLog,
      maxServed: 1,
    });
    sides[0]?.onText(text);
    expect((await link.closed).details).toMatchObject({ reason: 'link_protocol' });
  });

  it('closes on an id that is used twice', async () => {
    const { far, toFar } = open(async () => 'done');
    toFar({ type: 'open', id: 1, method: 'x', params: {} });
    toFar({ type: 'open', id: 1, method: 'x', params: {} });
    expect((await far.closed).details).toMatchObject({ reason: 'link_protocol' });
  });

  it('sends nothing that is larger than the other side takes, and stays open', async () => {
    const { near, far } = open(async (stream) => {
      await stream.send('x'.repeat(2_000));
      return null;
    });
    near.maxLength = 1_000;
    far.maxLength = 1_000;
    const large = near.request('x', { text: 'x'.repeat(2_000) }, { signal: never() });
    await expect(large).rejects.toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
    const answer = near.request('x', {}, { signal: never() });
    const reason = 'link_message_too_large';
    await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason } });
    expect(near.isOpen && far.isOpen).toBe(true);
  });
});
