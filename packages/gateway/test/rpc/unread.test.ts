import { silentLog } from '@starloom/core';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { type MessageChannel, serveRpcChannel } from '../../src/index.ts';
import { type CoordinationWorld, openCoordinationWorld } from '../coordination-world.ts';
import { startRequest } from '../observe/support/observed.ts';
import { type Message, openLocked, openSocket, request } from './clients.ts';

const LARGE = 'x'.repeat(1_000_000);
const cached = { tool: 't', params: { n: 1 } };

/** A client that takes nothing until it is told to. */
function openReader({ coordination }: CoordinationWorld) {
  const received: Message[] = [];
  const untaken: (() => void)[] = [];
  let isReading = false;
  let give: Parameters<MessageChannel['open']>[0] = () => {};
  let leave = () => {};
  const channel: MessageChannel = {
    open(onText, onClose) {
      give = onText;
      leave = onClose;
    },
    write(text) {
      received.push(JSON.parse(text));
      return isReading ? undefined : new Promise((resolve) => untaken.push(resolve));
    },
    flushed: async () => {},
    close: async () => {},
  };
  const principal = { ...LOCAL_PRINCIPAL, id: 'tester' };
  const served = serveRpcChannel(channel, {
    coordination,
    principal,
    log: silentLog,
    observe: startRequest,
  });
  return {
    received,
    /** A promise when nothing more is read. */
    give: (message: unknown) => give(JSON.stringify(message)),
    read() {
      isReading = true;
      for (const taken of untaken.splice(0)) taken();
    },
    async [Symbol.asyncDispose]() {
      this.read();
      leave();
      await served;
    },
  };
}

/** Gives messages until nothing more is read; how many that were. */
function giveUntilHeld(give: () => Promise<void> | void, most: number) {
  for (let count = 1; count <= most; count += 1) {
    const held = give();
    if (held) return { count, held };
  }
  throw new Error(`${most} messages were read from a client that does not read`);
}

describe('from a client that does not read its answers', () => {
  it('so many requests are read and no more, until it has read', async () => {
    await using world = await openCoordinationWorld();
    await using reader = openReader(world);
    const { count, held } = giveUntilHeld(() => reader.give(request(1, 'mcp.discover')), 1_000);
    await expect.poll(() => reader.received).toHaveLength(1);
    reader.read();
    await held;
    await expect.poll(() => reader.received).toHaveLength(count);
    expect(reader.give(request(2, 'mcp.discover'))).toBeUndefined();
  });

  it('so many bytes are read and no more', async () => {
    await using world = await openCoordinationWorld();
    await using reader = openReader(world);
    const large = request(1, 'mcp.discover', { large: LARGE });
    expect(giveUntilHeld(() => reader.give(large), 1_000).count).toBeLessThan(10);
  });

  it('no answer is written to what may wait before there is room for it, and all are answered', async () => {
    await using world = await openCoordinationWorld();
    await world.act('tool_cache.put', { ...cached, result: LARGE });
    await using reader = openReader(world);
    const ids = Array.from({ length: 150 }, (_, id) => id);
    for (const id of ids) {
      void reader.give(request(id, 'tool_cache.get', { ...cached, wait_ms: 1 }));
    }
    await expect.poll(() => reader.received.length).toBeGreaterThan(0);
    await untilStill(() => reader.received.length);
    expect(reader.received.length).toBeLessThan(5);
    reader.read();
    await expect.poll(() => reader.received).toHaveLength(ids.length);
    expect(reader.received.filter(({ result }) => result?.hit)).toHaveLength(ids.length);
  });

  it('is not read over a WebSocket, and everything is answered when it reads again', async () => {
    await using world = await openCoordinationWorld();
    await world.act('session_manager.create', { session_id: 's', agent_id: 'a', mode: 'cas' });
    const update = { session_id: 's', agent_id: 'a', update: { large: LARGE } };
    await world.act('context_coordinator.update', update);
    using wire = await openSocket(world.url);
    wire.socket.pause();
    const get = { session_id: 's', agent_id: 'a' };
    for (let id = 0; id < 20; id += 1) {
      wire.send(JSON.stringify(request(id, 'context_coordinator.get', get)));
    }
    const junk = request('junk', 'mcp.discover', { junk: LARGE });
    for (let count = 0; count < 60; count += 1) wire.send(JSON.stringify(junk));
    await untilStill(() => wire.socket.bufferedAmount);
    expect(wire.socket.bufferedAmount).toBeGreaterThan(10 * LARGE.length);
    wire.socket.resume();
    await expect.poll(() => wire.received).toHaveLength(80);
  });
});

describe('a client that waits for very many things', () => {
  it('is refused the next, and what does not wait is done meanwhile', async () => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    await using reader = openReader(world);
    reader.read();
    for (let id = 0; id < 1_010; id += 1) {
      const acquire = { ...locked.acquire, resource: `r${id}` };
      void reader.give(request(id, 'memory_locker.acquire', acquire));
    }
    expect(reader.give(request('d', 'mcp.discover'))).toBeUndefined();
    await expect.poll(() => reader.received.find(({ id }) => id === 'd')).toBeDefined();
    const refused = reader.received.filter(({ error }) => error?.code === -32016);
    expect(refused.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => 1_000 + n));
  });
});

/** Resolves when a figure has been the same for a while. */
async function untilStill(figure: () => number): Promise<void> {
  let last = -1;
  let still = 0;
  await expect
    .poll(
      () => {
        still = figure() === last ? still + 1 : 0;
        last = figure();
        return still;
      },
      { interval: 50 },
    )
    .toBeGreaterThan(10);
}
