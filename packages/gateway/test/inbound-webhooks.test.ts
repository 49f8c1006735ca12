import { request as httpRequest } from 'node:http';
import type { CallContext, InboundWebhook } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { rpc, toMessage } from './a2a/raw.ts';
import { openTestGateway, type TestAgent, type TestGatewayOptions } from './test-gateway.ts';

/** An agent whose adapter opens a webhook, and waits for `end`. */
function waitingAgent(manifest: TestAgent['manifest'] = {}) {
  const opened = Promise.withResolvers<InboundWebhook | undefined>();
  const end = Promise.withResolvers<void>();
  const state = { notices: 0, opened: opened.promise, end: end.resolve };
  const run: TestAgent['run'] = async function* (_envelope, _signal, context: CallContext) {
    const hook = context.openWebhook?.(() => {
      state.notices += 1;
    });
    opened.resolve(hook);
    try {
      await end.promise;
    } finally {
      hook?.[Symbol.dispose]();
    }
    yield { type: 'final', data: { answer: 'done' } };
  };
  return { agent: { run, manifest }, state };
}

async function begin(options: TestGatewayOptions = {}, manifest: TestAgent['manifest'] = {}) {
  const { agent, state } = waitingAgent(manifest);
  const gateway = await openTestGateway({ percy: agent }, options);
  const answered = rpc(`${gateway.url}/a2a/percy`, 'SendMessage', toMessage('x'));
  const hook = await state.opened;
  return {
    gateway,
    state,
    hook,
    [Symbol.asyncDispose]: async () => {
      state.end();
      await answered;
      await gateway[Symbol.asyncDispose]();
    },
  };
}

const notice = (
  url: string,
  headers: Record<string, string>,
  body = 'anything at all',
  method = 'POST',
) => fetch(url, { method, headers, ...(method === 'POST' && { body }) });

const tokenOf = (token: string) => ({ 'x-a2a-notification-token': token });

describe('a webhook of the gateway for an agent', () => {
  it('takes notices by its own token alone, whatever they say, and wakes the adapter', async () => {
    await using world = await begin();
    const { hook, state, gateway } = world;
    if (!hook) expect.fail('no webhook');
    expect(hook.url.startsWith(`${gateway.url}/a2a/_push/`)).toBe(true);
    expect((await notice(hook.url, tokenOf(hook.token))).status).toBe(204);
    const bearer = { authorization: `Bearer ${hook.token}`, 'content-type': 'application/json' };
    expect((await notice(hook.url, bearer, '{]')).status).toBe(204);
    expect(state.notices).toBe(2);
  });

  it('looks unknown to any other request, and so does one that never was', async () => {
    await using world = await begin();
    const { hook, state, gateway } = world;
    if (!hook) expect.fail('no webhook');
    const unknown = `${gateway.url}/a2a/_push/${'0'.repeat(32)}`;
    const refused = await Promise.all([
      notice(unknown, tokenOf(hook.token)),
      notice(hook.url, tokenOf('wrong')),
      notice(hook.url, {}),
      notice(hook.url, { authorization: 'Bearer test-key-0123456789abcdef' }),
      notice(`${hook.url}/more`, tokenOf(hook.token)),
      notice(hook.url, tokenOf(hook.token), '', 'GET'),
    ]);
    const bodies = await Promise.all(refused.map((response) => response.text()));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 404));
    const withoutIds = bodies.map((body) => body.replace(/[0-9a-f-]{16,}/g, ''));
    expect(new Set(withoutIds).size).toBe(1);
    expect(state.notices).toBe(0);
  });

  it('ends with its call', async () => {
    const world = await begin();
    const { hook, state, gateway } = world;
    if (!hook) expect.fail('no webhook');
    state.end();
    await expect.poll(async () => (await notice(hook.url, tokenOf(hook.token))).status).toBe(404);
    await gateway[Symbol.asyncDispose]();
  });

  it('checks the Host before its token', async () => {
    await using world = await begin();
    const { hook } = world;
    if (!hook) expect.fail('no webhook');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: 'evil.example', ...tokenOf(hook.token) };
      httpRequest(hook.url, { method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });

  it('takes bodies and notices within bounds', async () => {
    await using world = await begin({ config: { limits: { body_bytes: 1_000 } } });
    const { hook, state } = world;
    if (!hook) expect.fail('no webhook');
    expect((await notice(hook.url, tokenOf(hook.token), 'x'.repeat(2_000))).status).toBe(413);
    const storm = Array.from({ length: 200 }, () => notice(hook.url, tokenOf(hook.token)));
    const statuses = (await Promise.all(storm)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([204, 429]));
    expect(state.notices).toBeLessThan(150);
  });

  it('is made for agents elsewhere only when the gateway has a public address', async () => {
    const endpoint = {
      transport: 'http',
      uri: 'https://agent.example/',
      protocol: 'memory',
    } as const;
    {
      await using world = await begin({}, { endpoint });
      expect(world.hook).toBeUndefined();
    }
    const config = { a2a: { public_url: 'https://fabric.example/gateway/' } };
    await using world = await begin({ config }, { endpoint });
    expect(world.hook?.url).toMatch(
      /^https:\/\/fabric\.example\/gateway\/a2a\/_push\/[0-9a-f]{32}$/,
    );
  });
});
