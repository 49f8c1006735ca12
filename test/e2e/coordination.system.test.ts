import { describe, expect, it } from 'vitest';
import { startGateway } from '../../packages/starloom/test/running-gateway.ts';
import {
  byHttp,
  byStdio,
  byWebSocket,
  type Message,
  placeOf,
  post,
  type RpcClient,
} from './coordination-clients.ts';
import { onboard, updatesOf, write } from './onboarding.ts';

describe('the coordination plane of a gateway that somebody runs', () => {
  it('[C1] speaks JSON-RPC 2.0 over HTTP and stdio alike', async () => {
    await using gateway = await startGateway();
    const place = await placeOf(gateway.home);
    await using http = await byHttp(place);
    await using stdio = await byStdio(gateway.folder, gateway.home);
    const without = ({ error }: Message) => ({ code: error.code, reason: error.data.reason });
    for (const [method, params] of [
      ['mcp.discover', {}],
      ['no.such', {}],
      ['agent_registry.register', { agent_id: 7 }],
      ['context_coordinator.get', { session_id: 'nobodys' }],
      ['agent_registry.register', { agent_id: 'a', capabilities: ['x'] }],
      ['agent_registry.find', { capability: 'x' }],
    ] as const) {
      const [one, other] = [await http.ask(method, params), await stdio.ask(method, params)];
      for (const answer of [one, other]) expect(answer).toMatchObject({ jsonrpc: '2.0' });
      if (one.error) {
        expect(without(one)).toEqual(without(other));
        expect(other.error.data.details).toEqual(expect.any(String));
      } else expect(Object.keys(one.result)).toEqual(Object.keys(other.result));
    }
  });

  it('[C1] answers while a request waits, so that nobody is blocked', async () => {
    await using gateway = await startGateway();
    const place = await placeOf(gateway.home);
    await using a = await byWebSocket(place);
    await using b = await byHttp(place);
    const session_id = 's';
    await a.ask('session_manager.create', { session_id, agent_id: 'a' });
    await b.ask('session_manager.join', { session_id, agent_id: 'b' });
    const held = await b.ask('memory_locker.acquire', { session_id, agent_id: 'b' });
    const order: string[] = [];
    const waiting = a
      .ask('memory_locker.acquire', { session_id, agent_id: 'a', wait_ms: 60_000 })
      .then(() => order.push('lock'));
    await a.ask('context_coordinator.get', { session_id, agent_id: 'a' });
    order.push('context');
    const { lock_token } = held.result;
    await b.ask('memory_locker.release', { session_id, agent_id: 'b', lock_token });
    await waiting;
    expect(order).toEqual(['context', 'lock']);
  });

  it('[C5] pushes updates over WebSocket and SSE, and a plain client reads from a cursor', async () => {
    await using gateway = await startGateway();
    const place = await placeOf(gateway.home);
    await using writer = await byHttp(place);
    await using stream = await byHttp(place);
    await using socket = await byWebSocket(place);
    const { cursor } = await onboard(writer, 'writer', 's');
    await onboard(stream, 'stream', 's');
    await onboard(socket, 'socket', 's');
    for (let n = 1; n <= 5; n += 1) await write(writer, 's', 'writer', { n });
    const expected = [1, 2, 3, 4, 5].map((n) =>
      expect.objectContaining({ update: { n }, agent_id: 'writer' }),
    );
    for (const client of [writer, stream, socket]) {
      expect(await updatesOf(client, 5)).toEqual(expected);
    }
    const read: Message[] = [];
    for (let after = cursor; read.length < 5; ) {
      const params = { session_id: 's', agent_id: 'writer', after, limit: 2 };
      const types = ['context.update'];
      const method = 'context_coordinator.events';
      const { result } = await post(place, {
        jsonrpc: '2.0',
        id: 'page',
        method,
        params: { ...params, types },
      });
      expect(result.cursor).toBeGreaterThan(after);
      read.push(...result.events);
      after = result.cursor;
    }
    expect(read.map(({ update }) => update)).toEqual([1, 2, 3, 4, 5].map((n) => ({ n })));
  });

  it('[C5] pushes updates over stdio', async () => {
    await using gateway = await startGateway();
    await using stdio = await byStdio(gateway.folder, gateway.home);
    await onboard(stdio, 'writer', 's');
    await write(stdio, 's', 'writer', { key: 'new_value' });
    expect(await updatesOf(stdio, 1)).toMatchObject([{ update: { key: 'new_value' } }]);
  });

  it('[C4][C13] tells the others of an agent that died, and gives them what it held', async () => {
    await using gateway = await startGateway({
      'starloom.yaml':
        'registry: {kind: yaml, path: ./agents.yaml}\n' +
        'coordination: {kind: embedded, heartbeat_interval_ms: 2000}\n',
    });
    const place = await placeOf(gateway.home);
    await using survivor = await byWebSocket(place);
    const victim = await byWebSocket(place);
    const session_id = 's';
    const register = async (client: RpcClient, agent_id: string) =>
      await client.ask('agent_registry.register', { agent_id, capabilities: [] });
    await register(survivor, 'survivor');
    using _beats = every(300, () => survivor.ask('agent_registry.heartbeat', {}));
    await survivor.ask('session_manager.create', { session_id });
    await register(victim, 'victim');
    await victim.ask('session_manager.join', { session_id });
    await write(victim, session_id, 'victim', { half: 'done' });
    const held = await victim.ask('memory_locker.acquire', { session_id, ttl_ms: 600_000 });
    await victim[Symbol.asyncDispose]();

    const { result: lock } = await survivor.ask('memory_locker.acquire', {
      session_id,
      wait_ms: 30_000,
    });
    const lost = () =>
      survivor.pushed.find(({ method }) => method === 'session_manager.agent_disconnected');
    await expect.poll(lost, { timeout: 20_000 }).toMatchObject({
      params: { session_id, agent_id: 'victim', reason: 'heartbeat_missed' },
    });
    const { lock_token } = lock;
    expect(lock_token).toBeGreaterThan(held.result.lock_token);
    const update = { whole: true };
    await survivor.ask('context_coordinator.update', { session_id, update, lock_token });
    const { result } = await survivor.ask('context_coordinator.get', { session_id });
    expect(result.context).toEqual({ half: 'done', whole: true });
  });
});

function every(ms: number, work: () => Promise<unknown>): Disposable {
  const timer = setInterval(() => void work(), ms);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
