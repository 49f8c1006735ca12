import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CallContext, ResultFold, silentLog } from '@starloom/core';
import { ContractAgent, exampleEnvelope, exampleManifest } from '@starloom/core/testing';
import { timerWheelOf } from '@starloom/wire';
import type { RequestHandler } from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createA2aAdapter } from '../src/a2a/adapter.ts';
import { ContractExecutor } from './fixtures/a2a-executor.ts';
import { type A2aServerOptions, serveA2a } from './fixtures/a2a-server.ts';
import { answerRpc, gets, openFakeA2a, task } from './fixtures/fake-a2a.ts';

const POLLED = /GetTask|tasks\/get/;
const REGISTERED = /CreateTaskPush|pushNotificationConfig\/set/;

/** What the gateway is for an adapter: a place that takes notices. */
async function openReceiver() {
  const received: IncomingMessage['headers'][] = [];
  let onNotice: (() => void) | undefined;
  const server = createServer((request, response) => {
    received.push(request.headers);
    request.resume();
    onNotice?.();
    response.writeHead(204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/notices`;
  const openWebhook: CallContext['openWebhook'] = (given) => {
    onNotice = given;
    return { url, token: 'the-token', [Symbol.dispose]: () => {} };
  };
  return { openWebhook, received, notify: () => onNotice?.() };
}

async function open(options: A2aServerOptions = {}, more: Record<string, unknown> = {}) {
  const methods: string[] = [];
  const middleware: RequestHandler = (request, _, next) => {
    request.on('data', (chunk: Buffer) => {
      const [, method] = /"method":"([^"]+)"/.exec(chunk.toString()) ?? [];
      if (method) methods.push(method);
    });
    next();
  };
  const executor = new ContractExecutor(new ContractAgent());
  const server = await serveA2a(executor, { streaming: false, push: true, middleware, ...options });
  const endpoint = {
    transport: 'http' as const,
    protocol: 'a2a',
    uri: server.base,
    options: { poll_interval_ms: 60_000, ...more },
  };
  const adapter = createA2aAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog });
  onTestFinished(async () => {
    await adapter.close();
    await server.close();
  });
  const count = (kind: RegExp) => methods.filter((method) => kind.test(method)).length;
  return { adapter, count, executor };
}

async function answerOf(
  adapter: Awaited<ReturnType<typeof open>>['adapter'],
  task: string,
  openWebhook: CallContext['openWebhook'],
) {
  const fold = new ResultFold();
  const { signal } = new AbortController();
  const context = { signal, log: silentLog, openWebhook };
  for await (const body of adapter.call(exampleEnvelope(task), context)) fold.add(body);
  return fold.result()?.answer;
}

/** From here on no timer of the adapter fires by itself. */
function holdTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
    // Other files of this process wait on the same wheel, which a timer that never fires would stop.
    timerWheelOf().run();
  });
  const until = (isTrue: () => boolean) =>
    vi.waitUntil(
      async () => {
        await vi.advanceTimersByTimeAsync(10);
        return isTrue();
      },
      { timeout: 10_000, interval: 5 },
    );
  return { until };
}

describe.each(['1.0', '0.3'] as const)('an A2A %s agent that notifies', (version) => {
  it('is given a webhook for a task that lasts, and its notice wakes the adapter', async () => {
    const receiver = await openReceiver();
    const { adapter, count } = await open({ version });
    const { until } = holdTimers();
    const answer = answerOf(adapter, 'slow', receiver.openWebhook);
    await until(() => count(REGISTERED) === 1 && count(POLLED) === 4);
    // Past the shortest wait between two reads; the next poll is not due yet.
    await vi.advanceTimersByTimeAsync(80);
    expect(count(POLLED)).toBe(4);
    let isReleased = false;
    void answerOf(adapter, 'release', undefined).then(() => {
      isReleased = true;
    });
    // No timer moves on here: only the notice can wake it.
    expect(await answer).toBe('started 1');
    await until(() => isReleased);
    expect(receiver.received[0]?.authorization).toBe('Bearer the-token');
  });
});

describe('an A2A agent that may notify', () => {
  it('is given no webhook for a task that is short', async () => {
    const receiver = await openReceiver();
    const { adapter, count } = await open();
    expect(await answerOf(adapter, 'echo hello', receiver.openWebhook)).toBe('hello');
    expect(count(REGISTERED)).toBe(0);
  });

  const ways: readonly [string, A2aServerOptions, Record<string, unknown>][] = [
    ['streams', { streaming: true }, {}],
    ['does not offer it', { push: false }, {}],
    ['must not', {}, { push: false }],
  ];

  it.each(ways)('is given none when it %s', async (_, options, more) => {
    const receiver = await openReceiver();
    const { adapter, count } = await open(options, { poll_interval_ms: 20, ...more });
    const answer = answerOf(adapter, 'slow', receiver.openWebhook);
    const isAsked = () => count(/Send/) === 1 && (options.streaming || count(POLLED) > 4);
    await expect.poll(isAsked).toBe(true);
    await answerOf(adapter, 'release', undefined);
    expect(await answer).toBe('started 1');
    expect(count(REGISTERED)).toBe(0);
  });

  it('is polled when it can reach no gateway', async () => {
    const { adapter, count } = await open({}, { poll_interval_ms: 20 });
    const answer = answerOf(adapter, 'slow', () => undefined);
    await expect.poll(() => count(POLLED)).toBeGreaterThan(4);
    await answerOf(adapter, 'release', undefined);
    expect(await answer).toBe('started 1');
    expect(count(REGISTERED)).toBe(0);
  });

  it('is polled on when no notice comes, and when it refuses the webhook', async () => {
    for (const refuses of [false, true]) {
      const { adapter } = await openFakeA2a(
        {
          SendMessage: (request, response) =>
            answerRpc(response, request, { result: task('TASK_STATE_WORKING') }),
          GetTask: gets(
            ...Array.from({ length: 6 }, () => task('TASK_STATE_WORKING')),
            task('TASK_STATE_COMPLETED', {
              artifacts: [{ artifactId: 'a', parts: [{ text: 'made' }] }],
            }),
          ),
          CreateTaskPushNotificationConfig: (request, response) =>
            answerRpc(
              response,
              request,
              refuses ? { error: { code: -32_003, message: 'no' } } : { result: request.params },
            ),
        },
        {
          card: { capabilities: { streaming: false, pushNotifications: true } },
          options: { poll_interval_ms: 20 },
        },
      );
      const receiver = await openReceiver();
      expect(await answerOf(adapter, 'x', receiver.openWebhook)).toBe('made');
    }
  });

  it('is not believed: a notice makes the adapter look, and look it does by itself', async () => {
    const { adapter, methods } = await openFakeA2a(
      {
        SendMessage: (request, response) =>
          answerRpc(response, request, { result: task('TASK_STATE_WORKING') }),
        GetTask: gets(task('TASK_STATE_WORKING')),
        CreateTaskPushNotificationConfig: (request, response) =>
          answerRpc(response, request, { result: request.params }),
        DeleteTaskPushNotificationConfig: (request, response) =>
          answerRpc(response, request, { result: {} }),
      },
      {
        card: { capabilities: { streaming: false, pushNotifications: true } },
        options: { poll_interval_ms: 60_000 },
      },
    );
    const receiver = await openReceiver();
    const { until } = holdTimers();
    const control = new AbortController();
    const context = { signal: control.signal, log: silentLog, openWebhook: receiver.openWebhook };
    const ended = Array.fromAsync(adapter.call(exampleEnvelope('x'), context)).catch(
      (error: unknown) => error,
    );
    const polls = () => methods.filter((method) => method === 'GetTask').length;
    await until(() => polls() === 4);
    // A storm of notices that claim the end of the task.
    for (let n = 0; n < 100; n += 1) receiver.notify();
    await vi.advanceTimersByTimeAsync(60);
    await expect.poll(polls).toBe(5);
    control.abort(new Error('enough'));
    expect(await ended).toBeInstanceOf(Error);
    await expect.poll(() => methods).toContain('DeleteTaskPushNotificationConfig');
  });
});
