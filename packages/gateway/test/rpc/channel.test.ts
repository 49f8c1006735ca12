import { describe, expect, it } from 'vitest';
import { type CoordinationWorld, openCoordinationWorld } from '../coordination-world.ts';
import { openLocked, openPipes, openSocket, request, type Wire } from './clients.ts';

const NOT_UTF8 = Uint8Array.of(0x22, 0xff, 0xfe, 0x22);
const bounded = { timeout: 15_000 };

const connections: [string, (world: CoordinationWorld) => Promise<Wire>][] = [
  ['a WebSocket', ({ url }) => openSocket(url)],
  ['standard input', async (world) => openPipes(world)],
];

describe.each(connections)('requests on %s', (_, connect) => {
  it('are answered in their order, also when one speaks of waiting', async () => {
    await using world = await openCoordinationWorld();
    await world.act('session_manager.create', { session_id: 's', agent_id: 'a', mode: 'cas' });
    using wire = await connect(world);
    const who = { session_id: 's', agent_id: 'a' };
    const update = { ...who, update: { wait_ms: 1, note: '"wait_ms"' } };
    const asked: number[] = [];
    for (let id = 0; id < 60; id += 3) {
      wire.send(JSON.stringify(request(id, 'context_coordinator.update', update)));
      wire.send(JSON.stringify(request(id + 1, 'mcp.discover')));
      wire.send('{"wait_ms": no JSON');
      asked.push(id, id + 1);
    }
    const ids = () => wire.received.filter(({ error }) => !error).map(({ id }) => id);
    await expect.poll(() => wire.received.length, bounded).toBe(60);
    expect(ids()).toEqual(asked);
    const refused = wire.received.flatMap(({ error }, at) => (error ? [at] : []));
    expect(refused).toEqual(Array.from({ length: 20 }, (_each, at) => 3 * at + 2));
  });

  it.each([
    ['a wait', (text: string) => text],
    ['a wait however it is spelled', (text: string) => text.replace('wait_ms', 'wait\\u005fms')],
    ['a wait in a batch', (text: string) => `[${text}]`],
  ])('are not held up by %s', async (_name, spell) => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    using wire = await connect(world);
    wire.send(spell(JSON.stringify(request('w', 'memory_locker.acquire', locked.acquire))));
    wire.send(JSON.stringify(request('d', 'mcp.discover')));
    await expect.poll(() => wire.received.map(({ id }) => id), bounded).toEqual(['d']);
    await locked.untilWaiting();
    await locked.release();
    await expect
      .poll(() => wire.received.flat().filter(({ id }) => id === 'w'), bounded)
      .toMatchObject([{ result: { resource: 'context' } }]);
  });
});

describe('standard input', () => {
  it('goes on after a line that is too long or not UTF-8, and says what was wrong', async () => {
    await using world = await openCoordinationWorld();
    using pipes = openPipes(world, 1_000);
    pipes.send(JSON.stringify(request(1, 'mcp.discover')));
    pipes.send('x'.repeat(1_001));
    pipes.send(NOT_UTF8);
    for (let count = 0; count < 100; count += 1) pipes.send(' '.repeat(10_000));
    pipes.send(JSON.stringify(request(2, 'mcp.discover')));
    await expect.poll(() => pipes.received.at(-1)?.id, bounded).toBe(2);
    const refusal = (code: number, reason: string) => ({
      id: null,
      error: { code, data: { details: expect.any(String), error: { details: { reason } } } },
    });
    expect(pipes.received.slice(0, 4)).toMatchObject([
      { id: 1, result: {} },
      refusal(-32600, 'line_too_long'),
      refusal(-32700, 'invalid_utf8'),
      refusal(-32600, 'line_too_long'),
    ]);
    expect(pipes.received).toHaveLength(104);
  });
});
