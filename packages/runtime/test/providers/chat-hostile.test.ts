import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { OpenedProvider } from '../../src/providers/provider-host.ts';
import {
  context,
  KEY,
  serveEvents,
  serveHttp,
  serveJson,
  serveTcp,
} from './fixtures/raw-server.ts';

const HANG_GUARD_MS = 10_000;

describe('a hostile or broken chat service', () => {
  it.each([
    ['HTML', 'text/html', '<html>Sign in to the hotel network</html>'],
    ['broken JSON', 'application/json', '{"choices": [{"message"'],
    ['a list', 'application/json', '[]'],
    ['no choices', 'application/json', '{"object":"list","data":[]}'],
    ['null', 'application/json', 'null'],
    ['nothing', 'application/json', ''],
  ])('an answer of %s becomes UPSTREAM_ERROR in either mode', async (_, contentType, text) => {
    const { provider } = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-type': contentType }).end(text);
    });
    const expected = { code: 'UPSTREAM_ERROR', details: { reason: 'unreadable_answer' } };
    expect(await buffered(provider)).toMatchObject(expected);
    expect(await streamed(provider)).toMatchObject(expected);
  });

  it.each([
    ['is no JSON', 'data: {"choices"\n\n'],
    ['is no text', Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x0a, 0x0a])],
    ['is a number', 'data: 17\n\n'],
  ])('a stream that %s becomes UPSTREAM_ERROR', async (_, bytes) => {
    const { provider } = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(bytes);
    });
    expect(await streamed(provider)).toMatchObject({ code: 'UPSTREAM_ERROR' });
  });

  it.each([
    ['calls', { tool_calls: 'many' }],
    ['a call', { tool_calls: [null, 7, { function: 'x' }, {}] }],
    ['words', { content: 17 }],
    ['parts', { content: [null, { type: 'image_url' }, { type: 'hologram' }] }],
    ['everything', null],
  ])('the provider ignores nonsense in %s', async (_, message) => {
    const { provider } = await serveJson({ choices: [{ message, finish_reason: 'stop' }] });
    expect((await provider.generate('x', context())).segments).toEqual([]);
  });

  it('an answer that is no HTTP becomes UPSTREAM_ERROR', async () => {
    const { provider } = await serveTcp((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    expect(await buffered(provider)).toMatchObject({ code: 'UPSTREAM_ERROR' });
  });

  it('a service that hangs up at once becomes AGENT_OFFLINE', async () => {
    const { provider } = await serveTcp((socket) => socket.destroy());
    expect(await buffered(provider)).toMatchObject({ code: 'AGENT_OFFLINE' });
  });

  it('a redirect does not carry the key to another host', async () => {
    const seen: unknown[] = [];
    const other = await serveHttp((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    const { provider } = await serveHttp((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/v1` }).end();
    });
    expect(await buffered(provider)).toMatchObject({ code: 'BAD_INPUT', details: { status: 307 } });
    expect(seen).toEqual([]);
  });

  it('an error that repeats our key is shown without it', async () => {
    const { provider } = await serveHttp((request, response) => {
      response.writeHead(401).end(`Bad key: ${request.headers.authorization} \u001b[31m`);
    });
    const error = await buffered(provider);
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: { upstream: 'Bad key: Bearer [redacted]' },
    });
    expect(JSON.stringify(error)).not.toContain(KEY);
  });

  it('the provider reads only the beginning of an error that never ends', async () => {
    const { provider, sockets } = await serveHttp((_request, response) => {
      response.writeHead(500);
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        response.once('drain', pour);
      };
      pour();
    });
    const error = await buffered(provider);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { status: 500 } });
    expect(String(error.details.upstream).length).toBeLessThan(2_000);
    await expect.poll(() => sockets.size, { timeout: HANG_GUARD_MS }).toBe(0);
  });

  it('an event that never ends becomes an error before the memory is full', async () => {
    const { provider, sockets } = await serveHttp((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: ');
      const pour = () => {
        while (!response.destroyed && response.write('x'.repeat(1_048_576)));
        response.once('drain', pour);
      };
      pour();
    });
    expect(await streamed(provider)).toMatchObject({ code: 'UPSTREAM_ERROR' });
    await expect.poll(() => sockets.size, { timeout: HANG_GUARD_MS }).toBe(0);
  });

  it('the error says how long to wait when the service names a date', async () => {
    const { provider } = await serveHttp((_request, response) => {
      const date = new Date(Date.now() + 3_600_000).toUTCString();
      response.writeHead(429, { 'retry-after': date }).end();
    });
    const error = await buffered(provider);
    expect(error.code).toBe('RATE_LIMITED');
    expect(error.details.retry_after_ms).toBeGreaterThan(3_000_000);
  });

  it('the error leaves out a Retry-After that cannot be read', async () => {
    const { provider } = await serveHttp((_request, response) => {
      response.writeHead(429, { 'retry-after': 'soon' }).end();
    });
    expect((await buffered(provider)).details).not.toHaveProperty('retry_after_ms');
  });

  it('the provider keeps nothing of one answer for the next', async () => {
    const { provider } = await serveEvents([{ choices: [{ delta: { content: 'Hi' } }] }]);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => provider.generate('x', context())),
    );
    for (const { segments } of answers) expect(segments).toEqual([{ type: 'text', text: 'Hi' }]);
  });
});

async function buffered(provider: OpenedProvider): Promise<FabricError> {
  return failureOf(provider.generate('x', context()));
}

async function streamed(provider: OpenedProvider): Promise<FabricError> {
  return failureOf(Array.fromAsync(provider.stream('x', context())));
}

async function failureOf(promise: Promise<unknown>): Promise<FabricError> {
  const error = await promise.then(
    () => expect.fail('there was an answer'),
    (thrown: unknown) => thrown,
  );
  if (!FabricError.is(error)) throw error;
  return error;
}
