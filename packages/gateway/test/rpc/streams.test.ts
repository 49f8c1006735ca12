import { readSse } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from '../coordination-world.ts';
import { openLocked, post, request } from './clients.ts';

const SUBSCRIBE = 'context_coordinator.subscribe';
const accept = 'text/event-stream';
const bounded = (ms: number) => AbortSignal.timeout(ms);

describe('a POST that accepts a stream of events', () => {
  it('ends when the subscription of a batch is refused, whatever else succeeds', async () => {
    await using world = await openCoordinationWorld();
    const batch = [
      request('d', 'mcp.discover'),
      request('s', SUBSCRIBE, { session_id: 'nobodys', agent_id: 'a' }),
    ];
    const response = await post(world.url, batch, { accept, signal: bounded(10_000) });
    expect(await response.text()).toContain('-32004');
  });

  it('stays open for the subscription of a batch that is granted', async () => {
    await using world = await openCoordinationWorld();
    await openLocked(world);
    const batch = [
      request('d', 'no.such'),
      request('s', SUBSCRIBE, { session_id: 's', agent_id: 'b' }),
    ];
    const leaving = new AbortController();
    const response = await post(world.url, batch, { accept, signal: leaving.signal });
    const body = response.body as AsyncIterable<Uint8Array>;
    const events = readSse(body, { maxEventBytes: 65_536 })[Symbol.asyncIterator]();
    expect((await events.next()).value?.data).toContain('subscription_id');
    await world.act('session_manager.join', { session_id: 's', agent_id: 'c' });
    expect((await events.next()).value?.data).toContain('agent_joined');
    leaving.abort();
  });

  it('ends with its last subscription, whose session is over', async () => {
    await using world = await openCoordinationWorld();
    await openLocked(world);
    const subscribe = request(1, SUBSCRIBE, { session_id: 's', agent_id: 'b' });
    const response = await post(world.url, subscribe, { accept, signal: bounded(20_000) });
    await world.act('session_manager.end', { session_id: 's', agent_id: 'a' });
    expect(await response.text()).toContain('"reason":"session_ended"');
  });

  it('stays open for a lock that it has a ticket for, until that is granted', async () => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    const ask = request(1, 'memory_locker.acquire', { ...locked.acquire, async: true });
    const response = await post(world.url, ask, { accept, signal: bounded(20_000) });
    await locked.untilWaiting();
    await locked.release();
    const text = await response.text();
    expect(text).toContain('"queued":true');
    expect(text).toContain('"method":"memory_locker.granted"');
    expect(await locked.isLocked()).toBe(true);
  });

  it('ends when the time of its ticket is over', async () => {
    await using world = await openCoordinationWorld();
    const locked = await openLocked(world);
    const acquire = { ...locked.acquire, async: true, wait_ms: 20 };
    const ask = request(1, 'memory_locker.acquire', acquire);
    const response = await post(world.url, ask, { accept, signal: bounded(20_000) });
    expect(await response.text()).toContain('"queued":true');
  });

  it.each([
    ['text/event-stream', 'text/event-stream'],
    ['application/json, Text/Event-Stream;q=0.5', 'text/event-stream'],
    ['text/event-stream;q=0', 'application/json'],
    ['text/event-stream; q=0.000, application/json', 'application/json'],
    ['application/x-text/event-stream-not', 'application/json'],
  ])('is one when it accepts %s: %s', async (accepted, type) => {
    await using world = await openCoordinationWorld();
    const response = await post(world.url, request(1, 'mcp.discover'), { accept: accepted });
    expect(response.headers.get('content-type')).toContain(type);
    expect(await response.text()).toContain('protocol_version');
  });
});
