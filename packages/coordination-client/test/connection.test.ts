import type { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import {
  CoordinationClient,
  type CoordinationClientOptions,
  openCoordinationClient,
  webSocketConnect,
} from '../src/index.ts';
import { FakeGateway, refusal } from './support/fake-gateway.ts';

const backoffMs = { least: 1, most: 20 };

async function open(
  gateway: FakeGateway,
  options: Partial<CoordinationClientOptions> = {},
): Promise<CoordinationClient> {
  const connect = webSocketConnect({ url: gateway.url });
  return await openCoordinationClient({ connect, agentId: 'a', backoffMs, ...options });
}

describe('what a gateway closes the connection for', () => {
  it('refuses the request that is too large to its caller; the others are answered', async () => {
    await using gateway = await FakeGateway.open({ maxPayload: 10_000 });
    const held: number[] = [];
    gateway.answers['agent_registry.list'] = ({ id, connection }) => {
      if (connection > 1) return { result: { agents: [] } };
      held.push(id);
      return undefined;
    };
    const client = await open(gateway);
    const innocent = client.agents.list({});
    await expect.poll(() => held).toHaveLength(1);
    const large = client.buffer.put({ session_id: 's', content: 'x'.repeat(20_000) });
    await expect(large).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'too_large', method: 'shared_buffer.put', close_code: 1009 },
    });
    expect(await innocent).toEqual({ agents: [] });
    expect(gateway.connections).toBe(2);
    await client.close();
  });

  it('finds each of several that are too large', async () => {
    await using gateway = await FakeGateway.open({ maxPayload: 10_000 });
    gateway.answers['shared_buffer.put'] = () => ({ result: { chunk_id: 'small' } });
    const client = await open(gateway);
    const put = (length: number) =>
      client.buffer.put({ session_id: 's', content: 'x'.repeat(length) }).then(
        ({ chunk_id }) => chunk_id,
        (error: FabricError) => error.details.reason,
      );
    const settled = await Promise.all([put(11_000), put(100), put(30_000), put(12_000)]);
    expect(settled).toEqual(['too_large', 'small', 'too_large', 'too_large']);
    await client.close();
  });

  it('does not send again what is refused by its kind, and says that it may be done', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['agent_registry.list'] = () => void gateway.cut(1008);
    const client = await open(gateway);
    await expect(client.agents.list({})).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { close_code: 1008, may_be_done: true },
    });
    await client.call('mcp.status', {});
    expect(gateway.of('agent_registry.list')).toHaveLength(1);
    await client.close();
  });

  it('does not ask again for an answer that is too large for the client', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['agent_registry.list'] = () => ({ result: { agents: 'x'.repeat(20_000) } });
    const connect = webSocketConnect({ url: gateway.url, maxMessageBytes: 10_000 });
    const client = await open(gateway, { connect });
    await expect(client.agents.list({})).rejects.toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'answer_too_large', method: 'agent_registry.list', may_be_done: true },
    });
    await client.call('mcp.status', {});
    expect(gateway.of('agent_registry.list')).toHaveLength(1);
    expect(gateway.connections).toBe(2);
    await client.close();
  });

  it('pauses longer and longer when connections are lost soon', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['agent_registry.list'] = () => void gateway.cut();
    const pauses = { backoffMs: { least: 20, most: 10_000 }, requestMs: 1_000 };
    const client = await open(gateway, pauses);
    await expect(client.agents.list({})).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(gateway.connections).toBeGreaterThan(1);
    expect(gateway.connections).toBeLessThan(15);
    await client.close();
  });
});

describe('answers of a gateway', () => {
  it.each([
    ['an error that is null', { result: { fine: true }, error: null }, { fine: true }],
    ['data that is null', { error: { code: -32603, message: 'x', data: null } }, 'UPSTREAM_ERROR'],
    ['an error that is a text', { error: 'no' }, 'UPSTREAM_ERROR'],
  ])('takes %s', async (_, answer, expected) => {
    await using gateway = await FakeGateway.open();
    gateway.answers['mcp.status'] = () => answer;
    const client = await open(gateway);
    const settled = await client.call('mcp.status', {}).catch(({ code }: FabricError) => code);
    expect(settled).toEqual(expected);
    await client.close();
  });

  it('waits before it sends again what is under way, also when no time is named', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['mcp.status'] = () => refusal(-32013, { reason: 'in_progress' });
    const client = await open(gateway, { requestMs: 500 });
    await expect(client.call('mcp.status', {})).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(gateway.of('mcp.status').length).toBeLessThan(10);
    await client.close();
  });

  it('sends a key although it is given as undefined', async () => {
    await using gateway = await FakeGateway.open();
    const client = await open(gateway);
    await client.call('mcp.status', { idempotency_key: undefined });
    await client.call('mcp.status', { idempotency_key: 'mine' });
    const keys = gateway.of('mcp.status').map(({ params }) => params.idempotency_key);
    expect(keys).toEqual([expect.any(String), 'mine']);
    await client.close();
  });

  it('says of a request without an answer whether it may be done, and under which key', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['mcp.status'] = () => undefined;
    const client = await open(gateway, { requestMs: 50, backoffMs: { least: 5_000, most: 5_000 } });
    const error = await client.call('mcp.status', {}).catch((thrown: FabricError) => thrown);
    const [sent] = gateway.of('mcp.status');
    const { idempotency_key } = sent?.params ?? {};
    expect(error).toMatchObject({
      code: 'TIMEOUT',
      details: { may_be_done: true, idempotency_key },
    });
    const lost = new Promise<void>((resolve) => client.once('disconnected', resolve));
    gateway.cut();
    await lost;
    await expect(client.call('mcp.status', {})).rejects.toMatchObject({
      details: { may_be_done: false },
    });
    await client.close();
  });
});

describe('a dead connection', () => {
  it('is given up when a beat gets no answer, long before requests time out', async () => {
    await using gateway = await FakeGateway.open({ heartbeatIntervalMs: 300 });
    gateway.answers['agent_registry.heartbeat'] = ({ connection }) =>
      connection === 1 ? undefined : { result: { status: 'active' } };
    gateway.answers['agent_registry.list'] = ({ connection }) =>
      connection === 1 ? undefined : { result: { agents: [] } };
    const client = await open(gateway, { requestMs: 120_000 });
    expect(await client.agents.list({})).toEqual({ agents: [] });
    expect(gateway.connections).toBeGreaterThan(1);
    await client.close();
  });

  it('is given up as soon when it is one that is being set up', async () => {
    await using gateway = await FakeGateway.open({ heartbeatIntervalMs: 300 });
    gateway.answers['agent_registry.heartbeat'] = ({ connection }) =>
      connection === 2 ? undefined : { result: { status: 'active' } };
    const client = await open(gateway, { requestMs: 120_000 });
    gateway.cut();
    await expect.poll(() => gateway.connections).toBe(2);
    await client.call('mcp.status', {});
    expect(gateway.connections).toBe(3);
    await client.close();
  });

  it('is not waited for when the client is closed while it connects', async () => {
    const connect = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const client = new CoordinationClient({ connect, agentId: 'a' });
    const starting = client.start();
    await client.close();
    await expect(starting).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('the end of a client', () => {
  it('closes also when it cannot say goodbye', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['agent_registry.unregister'] = () => refusal(-32603);
    const client = await open(gateway);
    const closed = new Promise<FabricError>((resolve) => client.once('closed', resolve));
    await expect(client.unregister()).rejects.toMatchObject({ details: { rpc: -32603 } });
    expect(await closed).toMatchObject({ code: 'CANCELLED' });
    await expect(client.call('mcp.status', {})).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('says to each later call, and to subscriptions, that it is not accepted any more', async () => {
    await using gateway = await FakeGateway.open();
    gateway.answers['context_coordinator.subscribe'] = () => ({
      result: { subscription_id: 's', cursor: 0 },
    });
    const client = await open(gateway);
    const { promise: ended, resolve } = Promise.withResolvers<FabricError>();
    await client.subscribe({ session_id: 's' }, { update: () => {}, ended: resolve });
    gateway.answers['agent_registry.heartbeat'] = () => refusal(-32001, { code: 'AUTH_DENIED' });
    gateway.cut();
    const denied = { code: 'AUTH_DENIED', details: { rpc: -32001 } };
    expect(await ended).toMatchObject(denied);
    await expect(client.call('mcp.status', {})).rejects.toMatchObject(denied);
    await expect(client.subscribe({ session_id: 's' }, { update: () => {} })).rejects.toMatchObject(
      denied,
    );
  });
});
