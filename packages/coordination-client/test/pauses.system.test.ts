// What a client does with time: when silence counts, and for how long it lets itself be put off. Time
// is faked for the whole process here, so this runs in one of its own.

import { FabricError } from '@starloom/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openCoordinationClient, type Transport } from '../src/index.ts';
import { MAX_IN_FLIGHT } from '../src/link.ts';
import { CLIENT_TIMERS, ClientWorld } from './support/client-world.ts';

const DAYS_MS = 3_000_000_000;

beforeEach(() => {
  vi.useFakeTimers(CLIENT_TIMERS);
});

afterEach(() => {
  vi.useRealTimers();
});

it('keeps a connection over which anything comes, although a beat is not answered', async () => {
  await using at = new ClientWorld({ heartbeatIntervalMs: 1_000 });
  await at.open('a');
  at.link.onSend = ({ method }) => method !== 'agent_registry.heartbeat';
  for (let n = 0; n < 20; n += 1) {
    await vi.advanceTimersByTimeAsync(500);
    at.link.say({ method: 'something.else', params: {} });
  }
  expect(at.link.connections).toBe(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(at.link.connections).toBeGreaterThan(1);
});

it('tries again after a minute, however long the gateway asks it to wait', async () => {
  await using at = new ClientWorld();
  let attempts = 0;
  const connect = async (): Promise<Transport> => {
    attempts += 1;
    if (attempts !== 2) return await at.link.connect();
    const details = { retry_after_ms: DAYS_MS };
    throw new FabricError('OVERLOADED', 'The gateway is full', { details });
  };
  const backoffMs = { least: 1, most: 5 };
  const client = await openCoordinationClient({ connect, agentId: 'a', backoffMs });
  at.link.cut();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(attempts).toBe(2);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(attempts).toBe(3);
  await client.close();
});

it('repeats requests in progress after a minute, however long the gateway asks it to wait', async () => {
  await using at = new ClientWorld();
  const { connect } = at.link;
  const client = await openCoordinationClient({ connect, agentId: 'a', requestMs: 200_000 });
  let sent = 0;
  at.link.onSend = ({ method }) => {
    if (method === 'agent_registry.list') sent += 1;
    return true;
  };
  at.link.onAnswer = ({ id, result }) => {
    const isList = typeof result === 'object' && result !== null && 'agents' in result;
    if (sent !== 1 || !isList) return true;
    const data = { reason: 'in_progress', retry_after_ms: DAYS_MS };
    at.link.say({ id, error: { code: -32013, message: 'Conflict', data } });
    return false;
  };
  const listed = client.agents.list({});
  await vi.advanceTimersByTimeAsync(20_000);
  expect(sent).toBe(1);
  await vi.advanceTimersByTimeAsync(41_000);
  expect(sent).toBe(2);
  await listed;
  await client.close();
});

it('counts the time of requests that wait to be sent from the call', async () => {
  await using at = new ClientWorld();
  const { connect } = at.link;
  const client = await openCoordinationClient({ connect, agentId: 'a', requestMs: 1_000 });
  at.link.onSend = () => false;
  const codes: unknown[] = [];
  const count = MAX_IN_FLIGHT.brief + 10;
  for (let n = 0; n < count; n += 1) {
    void client.agents.list({}).catch((error: unknown) => codes.push(FabricError.from(error).code));
  }
  await vi.advanceTimersByTimeAsync(1_000);
  expect(codes).toEqual(Array.from({ length: count }, () => 'TIMEOUT'));
  await client.close();
});
