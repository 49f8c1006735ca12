// Nodes that claim what is not theirs, or break the protocol: typed errors, and no other node notices.

import type { Manifest } from '@starloom/core';
import { MemoryRegistry } from '@starloom/core/testing';
import { createAuthenticator } from '@starloom/identity';
import { expect, it } from 'vitest';
import { answers, call, connect } from '../../../packages/gateway/test/test-gateway.ts';
import {
  CALLER_KEY,
  openNodeGateway,
  openRawNode,
  openTestNode,
  psk,
  RIVAL_KEY,
} from './node-world.ts';

const work = (agent_id = 'worker') => ({ agent_id, capability: 'work', task: 'go' });

it('a node without the right to register is refused', async () => {
  await using gateway = await openNodeGateway();
  const keys = { [CALLER_KEY]: 'POLICY_DENIED', 'no-key-of-this-gateway-0123': 'AUTH_DENIED' };
  for (const [key, code] of Object.entries(keys)) {
    await using node = await openTestNode([gateway.url], { worker: answers('x') }, { key });
    const fix = expect.stringContaining('register:');
    await expect(node.connected).rejects.toMatchObject({ code, details: { fix } });
  }
});

it('a node serves only agents that the scope of its key names', async () => {
  await using gateway = await openNodeGateway();
  const agents = { worker: answers('w'), rover: answers('r') };
  await using node = await openTestNode([gateway.url], agents);
  await node.connected;
  expect(node.events).toMatchObject([{ event: 'connected', agents: ['worker'] }]);
  expect(gateway.registry.get('rover')).toBeUndefined();
  expect(node.lines.join('')).toContain('may not register');
});

it('a node cannot take the id of a node of another principal', async () => {
  await using gateway = await openNodeGateway();
  await using node = await openTestNode([gateway.url], { worker: answers('mine') });
  await node.connected;
  await using thief = await openTestNode(
    [gateway.url],
    { rover: answers('stolen') },
    { key: RIVAL_KEY },
  );
  await expect
    .poll(() => thief.events[0])
    .toMatchObject({
      event: 'disconnected',
      error: { code: 'BAD_INPUT', details: { reason: 'node_taken' } },
    });
  await using client = await connect(gateway.url);
  expect((await call(client, 'fabric.call', work())).payload.result.answer).toBe('mine');
});

it('of two nodes with one id and one key the second waits until the first is gone', async () => {
  await using gateway = await openNodeGateway();
  await using first = await openTestNode([gateway.url], { worker: answers('first') });
  await first.connected;
  await using second = await openTestNode([gateway.url], { worker: answers('second') });
  const taken = { event: 'disconnected', error: { details: { reason: 'node_taken' } } };
  await expect.poll(() => second.events[0]).toMatchObject(taken);
  await using client = await connect(gateway.url);
  expect((await call(client, 'fabric.call', work())).payload.result.answer).toBe('first');
  expect(first.connections()).toBe(1);
  await first.close();
  await expect.poll(second.connections).toBe(1);
  expect((await call(client, 'fabric.call', work())).payload.result.answer).toBe('second');
});

it('a node is not called "local", and says who it is before anything else', async () => {
  await using gateway = await openNodeGateway();
  await using local = await openRawNode(gateway.url, { nodeId: 'local' });
  await expect
    .poll(() => local.frames[0])
    .toMatchObject({
      type: 'error',
      error: { code: 'BAD_INPUT', details: { reason: 'node_hello' } },
    });
  local.offer('worker');
  await expect.poll(() => local.frames[1]?.error.details.reason).toBe('node_hello');
  expect(gateway.registry.list()).toEqual([]);
});

it('a node that answers for a call it was not sent is cut off, and learns nothing', async () => {
  await using gateway = await openNodeGateway();
  const gate = Promise.withResolvers<void>();
  await using node = await openTestNode([gateway.url], {
    worker: async function* () {
      await gate.promise;
      yield { type: 'final', data: { answer: 'true' } };
    },
  });
  await node.connected;
  await using liar = await openRawNode(gateway.url, { key: RIVAL_KEY });
  liar.offer('rover');
  await expect.poll(() => gateway.registry.get('rover')).toBeDefined();
  await using client = await connect(gateway.url);
  const running = call(client, 'fabric.call', work());
  const event = { type: 'final', data: { answer: 'forged' } };
  for (let id = 1; id <= 50; id += 1) liar.send({ type: 'end', id, value: { event } });
  await liar.closed;
  expect(liar.frames.at(-1)).toMatchObject({
    type: 'close',
    error: { details: { reason: 'link_protocol' } },
  });
  expect(JSON.stringify(liar.frames)).not.toContain('worker');
  gate.resolve();
  expect((await running).payload.result.answer).toBe('true');
});

it.each([
  ['no event', { type: 'item', value: { event: { type: 'spell', data: {} } } }],
  [
    'an answer that is no final',
    { type: 'end', value: { event: { type: 'token', data: { text: 'x' } } } },
  ],
  ['nothing', { type: 'end', value: null }],
])('a node that answers with %s fails that call alone', async (_, frame) => {
  await using gateway = await openNodeGateway();
  await using raw = await openRawNode(gateway.url);
  raw.offer('worker');
  await expect.poll(() => gateway.registry.get('worker')).toBeDefined();
  await using client = await connect(gateway.url);
  const running = call(client, 'fabric.call', { ...work(), timeout_ms: 10_000 });
  const sent = () => raw.frames.find(({ type, method }) => type === 'open' && method === 'call');
  await expect.poll(sent).toBeDefined();
  raw.send({ ...frame, id: sent().id });
  expect((await running).payload.error).toMatchObject({
    code: 'UPSTREAM_ERROR',
    details: { reason: 'node_answer' },
  });
  expect(raw.socket.readyState).toBe(raw.socket.OPEN);
});

it('a message over the limit ends the connection; a large answer of an agent fails its call alone', async () => {
  await using gateway = await openNodeGateway({ config: { limits: { result_bytes: 1_000 } } });
  await using raw = await openRawNode(gateway.url, { key: RIVAL_KEY });
  await using node = await openTestNode([gateway.url], {
    worker: async function* () {
      yield { type: 'final', data: { answer: 'x'.repeat(2_000_000) } };
    },
  });
  await node.connected;
  raw.send({ type: 'item', id: 1, value: 'x'.repeat(5_000_000) });
  expect(await raw.closed).toBe(1009);
  await using client = await connect(gateway.url);
  const { error } = (await call(client, 'fabric.call', work())).payload;
  expect(error).toMatchObject({
    code: 'UPSTREAM_ERROR',
    details: { reason: 'link_message_too_large' },
  });
  expect(node.connections()).toBe(1);
});

it('the clock of a node decides nothing', async () => {
  await using gateway = await openNodeGateway();
  await using raw = await openRawNode(gateway.url);
  raw.offer('worker');
  const asked = () => raw.frames.find(({ type, method }) => type === 'open' && method === 'health');
  await expect.poll(asked).toBeDefined();
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const value = { status: 'online', checked_at: hourAgo, since: hourAgo };
  raw.send({ type: 'end', id: asked().id, value });
  const health = () => gateway.registry.get('worker')?.health;
  await expect.poll(() => health()?.status).toBe('online');
  for (const at of [health()?.checked_at, health()?.since]) {
    expect(Date.now() - Date.parse(at ?? '')).toBeLessThan(1_800_000);
  }
});

it('an agent that another principal registered on a node is not called over that connection', async () => {
  const registry = new MemoryRegistry();
  await using gateway = await openNodeGateway({ registry });
  await using raw = await openRawNode(gateway.url, { nodeId: 'n1' });
  raw.offer('worker');
  await expect.poll(() => registry.get('worker')).toBeDefined();
  const by = { principal: 'rival', isOperator: false };
  const own = registry.get('worker')?.manifest;
  const manifest = { ...own, agent_id: 'rover', fallback: 'none' } as Manifest;
  await registry.registrar.register(manifest, by, { leaseMs: 30_000 });
  await using client = await connect(gateway.url);
  const { error } = (await call(client, 'fabric.call', work('rover'))).payload;
  expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason: 'no_link' } });
  expect(JSON.stringify(raw.frames)).not.toContain('rover');
});

it('a revoked key ends the connection of its node', async () => {
  let isValid = true;
  const valid = createAuthenticator({ psk, anonymous: false });
  const authenticator = {
    ...valid,
    isCurrent: (...given: Parameters<typeof valid.isCurrent>) =>
      isValid && valid.isCurrent(...given),
  };
  await using gateway = await openNodeGateway({ authenticator });
  await using node = await openTestNode([gateway.url], { worker: answers('x') });
  await node.connected;
  isValid = false;
  await expect.poll(() => node.events.at(-1)?.event).toBe('disconnected');
  expect(gateway.registry.get('worker')?.health).toMatchObject({ reason: 'no_link' });
});
