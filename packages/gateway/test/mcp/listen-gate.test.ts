import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { PrincipalContexts } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { expect, it } from 'vitest';
import { listenGate } from '../../src/mcp/listen-gate.ts';
import { SessionResources } from '../../src/mcp/session-resources.ts';
import { SessionUpdates } from '../../src/mcp/session-updates.ts';
import { openCoordinationWorld } from '../coordination-world.ts';

const uri = 'starloom://sessions/s/context';
const listen = (id: string | number, resourceSubscriptions: unknown): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true, resourceSubscriptions } },
});
const cancel = (requestId: string | number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
});

function open(contexts: PrincipalContexts) {
  const delivered: JSONRPCMessage[] = [];
  const updates = new SessionUpdates({
    resources: new SessionResources(contexts),
    principal: { id: 'tester' },
    log: silentLog,
    tellUpdated: async () => {},
    tellListChanged: async () => {},
  });
  const gate = listenGate(updates, async () => true);
  const send = (message: JSONRPCMessage) => gate(message, (taken) => delivered.push(taken));
  return { delivered, updates, send };
}

it('holds a request to listen until its sessions are followed, and nothing else', async () => {
  await using world = await openCoordinationWorld();
  await world.act('session_manager.create', { session_id: 's', agent_id: 'a' });
  const { delivered, updates, send } = open(world.coordination.services.principalContexts);
  const ping: JSONRPCMessage = { jsonrpc: '2.0', id: 2, method: 'ping' };
  send(listen(1, [uri, 'file:///other']));
  send(ping);
  expect(delivered).toEqual([ping]);
  await expect.poll(() => delivered.length).toBe(2);
  expect(delivered[1]).toEqual(listen(1, [uri]));
  expect(updates.isFollowed(uri)).toBe(true);
  send(cancel(1));
  await expect.poll(() => updates.isFollowed(uri)).toBe(false);
  updates.close();
});

it('never delivers a request to listen that was cancelled while it was held', async () => {
  await using world = await openCoordinationWorld();
  await world.act('session_manager.create', { session_id: 's', agent_id: 'a' });
  const { delivered, updates, send } = open(world.coordination.services.principalContexts);
  send(listen(1, [uri]));
  send(cancel(1));
  send(listen(2, [uri]));
  await expect.poll(() => delivered.length).toBe(2);
  expect(delivered).toEqual([cancel(1), listen(2, [uri])]);
  updates.close();
});

it('leaves a request that is not right to be refused', async () => {
  await using world = await openCoordinationWorld();
  const { delivered, updates, send } = open(world.coordination.services.principalContexts);
  const wrong = [listen(1, 'all'), listen(2, [7]), listen(3, undefined)];
  for (const message of wrong) send(message);
  expect(delivered).toEqual(wrong);
  updates.close();
});
