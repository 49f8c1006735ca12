import { Server } from '@modelcontextprotocol/server';
import { expect, it, onTestFinished } from 'vitest';
import { serveSessions } from '../../packages/adapters/test/fixtures/mcp-http-server.ts';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';

const URI = 'test://watched';

/** An agent of 2025-11-25 with one resource. */
async function serveOlder() {
  const subscribed: Server[] = [];
  const http = await serveSessions(() => {
    const server = new Server(
      { name: 'older', version: '1' },
      { capabilities: { tools: {}, resources: { subscribe: true } } },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [] }));
    server.setRequestHandler('resources/list', () => ({
      resources: [{ uri: URI, name: 'watched' }],
    }));
    server.setRequestHandler('resources/subscribe', () => {
      subscribed.push(server);
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', () => ({}));
    return server;
  });
  onTestFinished(() => http.close());
  const method = 'notifications/resources/updated' as const;
  const update = () => subscribed.at(-1)?.notification({ method, params: { uri: URI } });
  return { uri: http.uri, update };
}

it('updates of a resource of an older agent reach a client of the current revision', async () => {
  const older = await serveOlder();
  await using gateway = await startGateway({
    agents: [{ agent_id: 'older', endpoint: { transport: 'http', uri: older.uri } }],
  });
  await using client = await connect(gateway);
  const { resources } = await client.listResources();
  const uri = resources.find(({ name }) => name.includes('watched'))?.uri ?? '';
  expect(uri).toContain('watched');
  const updates: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updates.push(params.uri);
  });
  const subscription = await client.listen({ resourceSubscriptions: [uri] });
  await expect
    .poll(async () => {
      await older.update();
      return updates[0];
    })
    .toBe(uri);
  await subscription.close();
});
