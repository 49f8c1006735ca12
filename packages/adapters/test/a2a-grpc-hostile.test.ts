import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import {
  Server,
  ServerCredentials,
  type ServerWritableStream,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { FabricError, silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createA2aAdapter } from '../src/a2a/adapter.ts';
import { cardOf, sendJson } from './fixtures/fake-a2a.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

type Call = ServerWritableStream<{ message: { parts: { content: { value: string } }[] } }, unknown>;

/** An adapter whose card leads to this gRPC port. */
async function openAt(port: number, options: Record<string, unknown> = {}) {
  const grpc = { url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion: '1.0' };
  const server = createHttpServer((_, response) =>
    sendJson(response, { ...cardOf(''), supportedInterfaces: [grpc] }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const endpoint = {
    transport: 'http' as const,
    protocol: 'a2a',
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    options: { origins: [`grpc://127.0.0.1:${port}`], ...options },
  };
  const adapter = createA2aAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog });
  onTestFinished(async () => {
    await adapter.close();
    server.close();
  });
  return adapter;
}

/** An agent that does what the test says on the task `bad`, and echoes every other. */
async function openFake(bad: (call: Call) => void, options: Record<string, unknown> = {}) {
  const server = new Server();
  const unknown = (_: unknown, answer: (error: object) => void) =>
    answer({ code: status.UNIMPLEMENTED, details: 'no' });
  const methods: UntypedServiceImplementation = Object.fromEntries(
    Object.keys(A2AService).map((name) => [name, unknown]),
  );
  methods.sendStreamingMessage = (call: Call) => {
    const text = call.request.message.parts[0]?.content.value ?? '';
    if (text === 'bad') return bad(call);
    call.write(messageOf(text));
    call.end();
  };
  server.addService(A2AService, methods);
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  onTestFinished(() => server.forceShutdown());
  return await openAt(port, options);
}

function messageOf(value: string) {
  const part = { content: { $case: 'text', value }, filename: '', mediaType: '' };
  const ids = { messageId: 'm', contextId: '', taskId: '', role: 2 };
  const message = { ...ids, parts: [part], extensions: [], referenceTaskIds: [] };
  return { payload: { $case: 'message', value: message } };
}

function updateOf(text: string) {
  const part = { content: { $case: 'text', value: text }, filename: '', mediaType: '' };
  const artifact = { artifactId: 'a', name: '', description: '', parts: [part], extensions: [] };
  const value = { taskId: 't', contextId: 'c', artifact, append: true, lastChunk: false };
  return { payload: { $case: 'artifactUpdate', value } };
}

const fails =
  (code: status, details = 'no') =>
  (call: Call) => {
    call.emit('error', { code, details });
  };

const soon = () => {
  const control = new AbortController();
  setTimeout(() => control.abort(new FabricError('TIMEOUT', 'Too slow')), 200).unref();
  return control.signal;
};

describe('[G28] an A2A agent over gRPC that misbehaves', () => {
  it.each<[what: string, reason: string, code: string, bad: (call: Call) => void]>([
    ['does not know us', 'agent_denied', 'AUTH_DENIED', fails(status.UNAUTHENTICATED)],
    ['does not let us', 'agent_denied', 'AUTH_DENIED', fails(status.PERMISSION_DENIED)],
    ['takes no more calls', 'agent_rate_limit', 'RATE_LIMITED', fails(status.RESOURCE_EXHAUSTED)],
    ['goes away', 'connection_lost', 'AGENT_OFFLINE', fails(status.UNAVAILABLE)],
    ['breaks', 'rpc_error', 'UPSTREAM_ERROR', fails(status.INTERNAL)],
    ['runs out of time', 'agent_timeout', 'TIMEOUT', fails(status.DEADLINE_EXCEEDED)],
    ['refuses the request', 'invalid_params', 'BAD_INPUT', fails(status.INVALID_ARGUMENT)],
    ['says nothing', 'no_final', 'UPSTREAM_ERROR', (call) => call.end()],
    [
      'sends a message over the limit',
      'result_too_large',
      'UPSTREAM_ERROR',
      (call) => call.write(messageOf('x'.repeat(5_000_000))),
    ],
  ])('that %s fails with %s, and serves the next call', async (_, reason, code, bad) => {
    const adapter = await openFake(bad);
    const error = await failedCall(adapter, 'bad');
    expect(error).toMatchObject({ code, details: { reason, agent_id: 'subject' } });
    if (code === 'AUTH_DENIED') expect(error.details.upstream).toBeDefined();
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('is cut off when its stream has no end', async () => {
    let written = 0;
    const adapter = await openFake(
      (call) => {
        const timer = setInterval(() => {
          if (call.cancelled || call.destroyed) return clearInterval(timer);
          written += 100_000;
          call.write(updateOf('x'.repeat(100_000)));
        }, 1);
      },
      { max_stream_bytes: 1_000_000 },
    );
    expect((await failedCall(adapter, 'bad')).details.reason).toBe('stream_too_large');
    expect(written).toBeLessThan(100_000_000);
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('stops with the reason of the signal when it hangs', async () => {
    const adapter = await openFake(() => {});
    expect((await failedCall(adapter, 'bad', { signal: soon() })).code).toBe('TIMEOUT');
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it.each<[what: string, onSocket: (socket: Socket) => void]>([
    ['speaks another protocol', (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')],
    ['says nothing at all', () => {}],
  ])('does not hold a call up when it %s', async (_, onSocket) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => {}));
      onSocket(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const adapter = await openAt((server.address() as AddressInfo).port);
    const { code } = await failedCall(adapter, 'bad', { signal: soon() });
    expect(['TIMEOUT', 'AGENT_OFFLINE', 'UPSTREAM_ERROR']).toContain(code);
  });
});
