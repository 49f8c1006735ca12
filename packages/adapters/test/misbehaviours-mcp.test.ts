// What an MCP agent over HTTP may do wrong below its protocol; the rest is in `mcp-hostile-http.test.ts`.

import { FabricError } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answer, type Behaviour, serveFake, taskOf, toResult } from './fixtures/fake-mcp.ts';
import { openMcpHttp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

async function open(bad: Behaviour) {
  const reached = Promise.withResolvers<void>();
  const fake = await serveFake({
    'tools/call': (request, response) => {
      if (taskOf(request) !== 'bad') {
        answer(response, { id: request.id, result: toResult(taskOf(request)) });
        return;
      }
      bad(request, response);
      reached.resolve();
    },
  });
  onTestFinished(() => fake.close());
  const control = new AbortController();
  void reached.promise.then(() => control.abort(new FabricError('TIMEOUT', 'Too slow')));
  return { adapter: await openMcpHttp(fake.uri, {}), signal: control.signal };
}

describe('[G28] an MCP agent over HTTP', () => {
  it('that sends bytes that are not UTF-8 fails, and serves the next call', async () => {
    const { adapter } = await open(({ id }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"text":"`);
      response.end(Buffer.from([0xff, 0xfe, 0x22]));
    });
    expect((await failedCall(adapter, 'bad')).code).toBe('UPSTREAM_ERROR');
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
  });

  it('that says 200 with an error inside fails, and serves the next call', async () => {
    const { adapter } = await open(({ id }, response) =>
      answer(response, { id, error: { code: -32_603, message: 'boom' } }),
    );
    const error = await failedCall(adapter, 'bad');
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', isAgentAnswer: false });
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
  });

  it.each<[string, Behaviour]>([
    ['inside its headers', (_, response) => void response.socket?.write('HTTP/1.1 200 OK\r\nx-')],
    [
      'in the middle of its body',
      (_, response) => void response.writeHead(200, JSON_TYPE).write('{"a"'),
    ],
    ['behind a socket that is half open', (_, response) => void response.socket?.end()],
  ])('that hangs %s is left at the signal', async (_, bad) => {
    const { adapter, signal } = await open(bad);
    const error = await failedCall(adapter, 'bad', { signal });
    const isClosed = error.details.reason === 'connection_lost';
    expect(isClosed ? 'TIMEOUT' : error.code).toBe('TIMEOUT');
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };
