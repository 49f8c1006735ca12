import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openWorld, textOf } from '../core/world.ts';
import { serveHttp } from './fixtures/raw-server.ts';

const ANSWER = {
  choices: [{ index: 0, delta: { content: 'Back again.' }, finish_reason: 'stop' }],
};

const recover: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`data: ${JSON.stringify(ANSWER)}\n\ndata: [DONE]\n\n`);
};

const limited: RequestListener = (_request, response) => {
  response.writeHead(429, { 'content-type': 'application/json' }).end('{"error":{}}');
};
const garbage: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end('data: \u0000{]\n\ndata: }{\n\n');
};
const silence: RequestListener = () => {};

describe('a whole agent before a model service that', () => {
  it.each([
    ['says 429 for ever', limited, { code: 'RATE_LIMITED', details: { attempts: 3 } }],
    ['streams garbage', garbage, { code: 'UPSTREAM_ERROR' }],
    ['never answers', silence, { code: 'TIMEOUT', details: { budget: 'seconds' } }],
  ])('%s: the turn ends with cause and fix, and its session goes on', async (_, broken, error) => {
    let answer = broken;
    const { provider } = await serveHttp((request, response) => {
      request.resume();
      answer(request, response);
    });
    await using world = await openWorld({ provider, agent: { limits: { seconds: 2 } } });
    const failed = world.agent.turn('Remember seven.', { sessionId: 'mine' });
    await expect(failed).rejects.toMatchObject(error);
    await expect(failed).rejects.toMatchObject({ details: { fix: expect.any(String) } });
    answer = recover;
    const { segments } = await world.agent.turn('Are you there?', { sessionId: 'mine' });
    expect(textOf(segments)).toBe('Back again.');
    const words = (await world.agent.history('mine')).map((block) => textOf(block.segments));
    expect(words).toContain('Remember seven.');
  });
});
