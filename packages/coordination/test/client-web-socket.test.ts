import { expect, it } from 'vitest';
import { openCoordinationClient, webSocketConnect } from '../src/client/index.ts';
import { serve } from './support/small-gateway.ts';
import { World } from './support/world.ts';

const backoffMs = { least: 1, most: 20 };

it('talks over a WebSocket, and goes on after each cut', async () => {
  await using world = new World();
  const server = await serve(world);
  const connect = webSocketConnect({ url: server.url, key: 'secret' });
  const [writer, reader] = [
    await openCoordinationClient({ connect, agentId: 'writer', backoffMs }),
    await openCoordinationClient({ connect, agentId: 'reader', backoffMs }),
  ];
  const { session_id } = await writer.sessions.create({ mode: 'cas' });
  await reader.sessions.join({ session_id });
  const seen: unknown[] = [];
  await reader.subscribe({ session_id }, { update: ({ update }) => void seen.push(update.n) });
  for (let n = 1; n <= 30; n += 1) {
    await writer.context.update({ session_id, update: { n } });
    if (n % 7 === 0) server.cut();
  }
  await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(30);
  expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  await writer.close();
  await reader.close();
  await server.close();
});

it('says that the key is refused, or that nobody is there', async () => {
  await using world = new World();
  const server = await serve(world);
  const open = (key: string) =>
    openCoordinationClient({
      connect: webSocketConnect({ url: server.url, key }),
      agentId: 'a',
      backoffMs,
    });
  await expect(open('wrong')).rejects.toMatchObject({
    code: 'AUTH_DENIED',
    details: { status: 401 },
  });
  await server.close();
  await expect(open('secret')).rejects.toMatchObject({ code: 'AGENT_OFFLINE' });
});
