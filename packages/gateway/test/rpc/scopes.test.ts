import { once } from 'node:events';
import { createCoordination, openStore, SERVICE_PATHS } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { mayUseCoordination } from '../../src/index.ts';
import { connect, openTestGateway } from '../test-gateway.ts';
import { request } from './clients.ts';

const SCOPES = { all: ['*'], plane: ['toolset:coordination'], agents: ['agent:*'], none: [] };
type KeyName = keyof typeof SCOPES;
const keyOf = (name: string) => `key-of-${name}-0123456789abcdef`;
const headersOf = (name: string) => ({ authorization: `Bearer ${keyOf(name)}` });

async function openWorld() {
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  const coordination = createCoordination({ store, log: silentLog, mayUse: mayUseCoordination });
  const psk = createPskVerifier(
    Object.entries(SCOPES).map(([name, scopes]) => {
      return { key_id: name, key: keyOf(name), principal: 'team', tier: 'org', scopes } as const;
    }),
  );
  const gateway = await openTestGateway(
    { helper: { run: async function* () {} } },
    { coordination, psk },
  );
  return {
    url: gateway.url,
    async ask(name: string, path: string, method = 'agent_registry.list', params: object = {}) {
      const answer = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { ...headersOf(name), 'content-type': 'application/json' },
        body: JSON.stringify(request(1, method, params)),
      });
      return await answer.json();
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await coordination.close();
      await store.close();
    },
  };
}

const denied = { error: { code: -32001, data: { details: expect.stringMatching(/\w/) } } };

describe('the scope toolset:coordination', () => {
  it.each<[KeyName, boolean]>([
    ['all', true],
    ['plane', true],
    ['agents', false],
    ['none', false],
  ])('decides on /rpc and every service for a key with "%s"', async (name, isAllowed) => {
    await using world = await openWorld();
    for (const path of ['/rpc', ...Object.values(SERVICE_PATHS)]) {
      const answer = await world.ask(name, path);
      const agents = name === 'all' ? [{ agent_id: 'helper' }] : [];
      expect(answer).toMatchObject(isAllowed ? { result: { agents } } : denied);
    }
  });

  it('decides on a WebSocket', async () => {
    await using world = await openWorld();
    const url = `${world.url.replace('http', 'ws')}/rpc/ws`;
    const socket = new WebSocket(url, { headers: headersOf('agents') });
    await once(socket, 'open');
    socket.send(JSON.stringify(request(1, 'mcp.discover')));
    const [data] = await once(socket, 'message');
    expect(JSON.parse(String(data))).toMatchObject(denied);
    socket.terminate();
  });

  it('makes sessions look unknown as resources, although the principal is in them', async () => {
    await using world = await openWorld();
    await world.ask('plane', '/rpc', 'session_manager.create', { session_id: 's', agent_id: 'a' });
    const uri = 'starloom://sessions/s/context';
    await using allowed = await connect(world.url, 'auto', headersOf('plane'));
    expect((await allowed.listResources()).resources).toMatchObject([{ uri }]);
    await using limited = await connect(world.url, 'auto', headersOf('agents'));
    expect((await limited.listResources()).resources).toEqual([]);
    expect((await limited.listResourceTemplates()).resourceTemplates).toEqual([]);
    await expect(limited.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
  });
});
