import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openWorld } from './agents-world.ts';

const CARD = {
  name: 'Travel Agent',
  supportedInterfaces: [{ url: 'http://x', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  skills: [],
};
const OLD_CARD = { name: 'Old', url: 'http://x', protocolVersion: '0.3.0', skills: [] };

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const endpointOf = async (url: string, ...more: string[]) => {
  await using world = await openWorld();
  const { stdout } = await world.run('agents', 'add', url, ...more, '--dry-run', '--json');
  return JSON.parse(stdout).agent;
};

describe('starloom agents add, for an agent card', () => {
  it.each([
    ['1.0', CARD, 'travel-agent'],
    ['0.3', OLD_CARD, 'old'],
  ])('recognises a card of A2A %s and takes its name', async (_, card, agent_id) => {
    const base = await serve((_, response) => response.end(JSON.stringify(card)));
    const uri = `${base}/agents/card.json`;
    expect(await endpointOf(uri)).toMatchObject({
      agent_id,
      endpoint: { transport: 'http', protocol: 'a2a', uri },
    });
  });

  it('keeps the name that is given', async () => {
    const base = await serve((_, response) => response.end(JSON.stringify(CARD)));
    const url = `${base}/.well-known/agent-card.json`;
    expect(await endpointOf(url, '--name', 'mine')).toMatchObject({
      agent_id: 'mine',
      endpoint: { protocol: 'a2a' },
    });
  });

  it.each<[what: string, listener: RequestListener]>([
    ['that wants to know who asks', (_, response) => response.writeHead(401).end()],
    ['that hangs up', (_, response) => response.socket?.destroy()],
    ['that sends us elsewhere', (_, response) => response.writeHead(302, { location: '/' }).end()],
    ['that is too large', (_, response) => response.end(`"${'x'.repeat(2_000_000)}"`)],
  ])('recognises a card by its place %s', async (_, listener) => {
    const url = `${await serve(listener)}/.well-known/agent-card.json`;
    expect(await endpointOf(url)).toMatchObject({ endpoint: { protocol: 'a2a', uri: url } });
  });

  it('takes no other JSON for a card', async () => {
    const get = { operationId: 'list', responses: { 200: { description: 'all of them' } } };
    const document = {
      openapi: '3.1.0',
      info: { title: 'Pets', version: '1' },
      paths: { '/pets': { get } },
    };
    const base = await serve((_, response) => response.end(JSON.stringify(document)));
    expect(await endpointOf(`${base}/openapi.json`)).toMatchObject({
      agent_id: 'pets',
      endpoint: { protocol: 'http', options: { profile: 'openapi' } },
    });
  });
});
