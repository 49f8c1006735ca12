import { describe, expect, it } from 'vitest';
import { type CoordinationWorld, openCoordinationWorld } from '../coordination-world.ts';
import { type Message, openSocket, post, request } from './clients.ts';

const MEGABYTE = 1_000_000;
const WHO = { session_id: 's', agent_id: 'a' };

const ways: [string, (world: CoordinationWorld, batch: unknown) => Promise<Message>][] = [
  ['a POST', async ({ url }, batch) => await (await post(url, batch)).json()],
  ['a POST for events', async ({ url }, batch) => await firstEvent(url, batch)],
  ['a WebSocket', async ({ url }, batch) => await firstMessage(url, batch)],
];

describe.each(ways)('a batch on %s', (_, ask) => {
  it('that asks for too much is answered whole: the rest is refused, and not done', async () => {
    await using world = await openCoordinationWorld();
    await world.act('session_manager.create', { ...WHO, mode: 'cas' });
    const update = { large: 'x'.repeat(MEGABYTE) };
    const { version } = await world.act('context_coordinator.update', { ...WHO, update });
    const gets = Array.from({ length: 50 }, (_each, id) =>
      request(id, 'context_coordinator.get', WHO),
    );
    const write = { ...WHO, update: { written: true } };
    const answers: Message[] = await ask(world, [
      ...gets,
      request('w', 'context_coordinator.update', write),
      { jsonrpc: '2.0', method: 'context_coordinator.update', params: write },
      7,
    ]);
    expect(answers.map(({ id }) => id)).toEqual([...gets.map(({ id }) => id), 'w', null]);
    const given = answers.filter(({ result }) => result).length;
    expect(given).toBeGreaterThan(30);
    expect(given).toBeLessThan(40);
    expect(answers[given]).toMatchObject({
      error: { code: -32016, data: { limit: 'batch_answer_bytes', fix: expect.any(String) } },
    });
    expect(answers.at(-2)).toMatchObject({ id: 'w', error: { code: -32016 } });
    expect(answers.at(-1)).toMatchObject({ error: { code: -32600 } });
    expect(await world.act('context_coordinator.get', { ...WHO, keys: ['written'] })).toMatchObject(
      { context: {}, version },
    );
  });
});

async function firstEvent(url: string, batch: unknown): Promise<Message> {
  const response = await post(url, batch, { accept: 'text/event-stream' });
  return JSON.parse((await response.text()).replace(/^event: message\ndata: /, ''));
}

async function firstMessage(url: string, batch: unknown): Promise<Message> {
  using wire = await openSocket(url);
  wire.send(JSON.stringify(batch));
  await expect.poll(() => wire.received, { timeout: 20_000 }).toHaveLength(1);
  return wire.received[0];
}
