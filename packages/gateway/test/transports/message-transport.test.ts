import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { InFlight } from '../../src/in-flight.ts';
import type { MessageChannel } from '../../src/index.ts';
import { pacedChannel } from '../../src/transports/message-channel.ts';
import { MessageTransport } from '../../src/transports/message-transport.ts';
import { startRequest } from '../observe/support/observed.ts';

async function openTransport() {
  const written: { id: unknown; error?: { code: number } }[] = [];
  const taken: JSONRPCMessage[] = [];
  const room = Promise.withResolvers<void>();
  const reader = { isReading: true };
  let give: Parameters<MessageChannel['open']>[0] = () => {};
  const channel: MessageChannel = {
    open(onText) {
      give = onText;
    },
    write(text) {
      written.push(JSON.parse(text));
      return reader.isReading ? undefined : room.promise;
    },
    flushed: async () => {},
    close: async () => {},
  };
  const transport = new MessageTransport({
    channel: pacedChannel(channel),
    log: silentLog,
    inFlight: new InFlight(),
    onGone: () => {},
    observe: startRequest,
  });
  transport.onmessage = (message) => taken.push(message);
  await transport.start();
  const ask = (id: number, params: object = {}) =>
    give(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params }));
  const cancel = (requestId: number) =>
    give(
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
    );
  const answer = (id: number) => transport.send({ jsonrpc: '2.0', id, result: {} });
  return { written, taken, reader, room, ask, cancel, answer };
}

describe('an MCP client', () => {
  it('that asks for more and more is refused until something is answered or cancelled', async () => {
    const { written, taken, ask, cancel, answer } = await openTransport();
    for (let id = 0; id <= 1_000; id += 1) void ask(id);
    expect(taken).toHaveLength(1_000);
    expect(written).toMatchObject([{ id: 1_000, error: { code: -32010 } }]);
    await answer(7);
    cancel(8);
    void ask(1_001);
    void ask(1_002);
    void ask(1_003);
    expect(taken.map((message) => 'id' in message && message.id).slice(-2)).toEqual([1_001, 1_002]);
    expect(written.at(-1)).toMatchObject({ id: 1_003, error: { code: -32010 } });
  });

  it('cannot leave large requests unanswered without bound', async () => {
    const { written, taken, ask } = await openTransport();
    const large = { large: 'x'.repeat(1_000_000) };
    for (let id = 0; id < 100; id += 1) void ask(id, large);
    expect(taken.length).toBeLessThan(70);
    expect(written[0]).toMatchObject({ error: { code: -32010 } });
  });

  it('is not read from while it does not read', async () => {
    const { reader, room, ask, answer } = await openTransport();
    expect(ask(1)).toBeUndefined();
    reader.isReading = false;
    const answered = answer(1);
    const held = ask(2);
    expect(held).toBeInstanceOf(Promise);
    reader.isReading = true;
    room.resolve();
    await Promise.all([answered, held]);
    expect(ask(3)).toBeUndefined();
  });
});
