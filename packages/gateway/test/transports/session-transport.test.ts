import type { ServerResponse } from 'node:http';
import { setImmediate as turnEnd } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SentEvents } from '../../src/transports/event-log.ts';
import { SessionTransport } from '../../src/transports/session-transport.ts';
import { FakeResponse } from './fake-response.ts';

const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const;

const open = () => new SessionTransport('s', new SentEvents({ most: 1_000_000, kept: 0 }));
const listen = (transport: SessionTransport, response: ServerResponse) =>
  transport.listen(response, true, () => {});

describe('the stream that a session listens on', () => {
  it('can be resumed long after it broke, and is live again then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const transport = open();
    const [first, second] = [new FakeResponse(), new FakeResponse()];
    listen(transport, first.asResponse);
    await first.leave();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(transport).toMatchObject({ isListening: false, hasListener: true });
    await transport.send(CHANGED);
    transport.resume('l1-0', second.asResponse);
    await transport.send(CHANGED);
    expect(transport.isListening).toBe(true);
    await turnEnd();
    expect(second.text.match(/list_changed/g)).toHaveLength(2);
    await transport.close();
    expect(second.writableEnded).toBe(true);
  });

  it('is needed for a request of the server that belongs to no call', async () => {
    const transport = open();
    await transport.send(CHANGED);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;
    await expect(transport.send(ping)).rejects.toMatchObject({ code: 'CANCELLED' });
    const response = new FakeResponse();
    listen(transport, response.asResponse);
    await transport.send(ping);
    await turnEnd();
    expect(response.text).toContain('"method":"ping"');
    await transport.close();
  });

  it('carries nothing of a call that is over', async () => {
    const transport = open();
    listen(transport, new FakeResponse().asResponse);
    const progress = { jsonrpc: '2.0', method: 'notifications/progress' } as const;
    const late = transport.send(progress, { relatedRequestId: 7 });
    await expect(late).rejects.toMatchObject({ code: 'CANCELLED' });
    await transport.close();
  });
});
