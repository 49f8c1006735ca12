import { inspect } from 'node:util';
import { FabricError, type Log, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCall } from './fixtures/agent-world.ts';
import { TOKEN, type ZeroAgent, type ZeroLane } from './fixtures/agent-zero-server.ts';
import { callZero as call, failureOf, openZero, openZeroAdapter } from './fixtures/open-zero.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const echo: ZeroAgent = async ({ message }) => message;
const failing: ZeroAgent = async () => {
  throw new Error(`out of paper, with the key ${TOKEN}`);
};

const places: Readonly<Record<string, RegExp>> = {
  mcp: /^POST \/mcp\/t-/,
  http: /^POST \/api\/api_message$/,
  a2a: /^POST \/a2a\/$/,
};

describe('[G23] the interface of Agent Zero', () => {
  it.each<[ZeroLane, ZeroLane[]]>([
    ['mcp', ['mcp', 'http', 'a2a', 'rfc']],
    ['http', ['http', 'a2a', 'rfc']],
    ['a2a', ['a2a', 'rfc']],
  ])('is %s, of those it serves: %o', async (lane, lanes) => {
    const { adapter, server } = await openZero(echo, { lanes });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
    const used = server.requests.filter((request) => places[lane]?.test(request));
    expect(used.length).toBeGreaterThan(0);
    for (const other of Object.keys(places).filter((name) => name !== lane)) {
      if (other !== 'mcp') {
        expect(server.requests.some((request) => places[other]?.test(request))).toBe(false);
      }
    }
  });

  it('is looked for once', async () => {
    const { adapter, server } = await openZero(echo, { lanes: ['a2a'] });
    await Promise.all([call(adapter), call(adapter), call(adapter)]);
    expect(server.requests.filter((request) => request.endsWith('agent.json'))).toHaveLength(1);
  });

  it('is never that of remote functions unless the manifest says so', async () => {
    const options = { functions: { work: 'helpers.files.read' } };
    const { adapter, server } = await openZero(echo, { lanes: ['rfc'], options });
    const error = await failureOf(call(adapter));
    expect(error).toMatchObject({ code: 'AUTH_DENIED', details: { sent: false } });
    expect(server.requests.join()).not.toContain('rfc');
  });

  it('is none when nothing is served: nothing was sent', async () => {
    const instead: Parameters<typeof openZero>[1] = {
      instead: (_request, response) => {
        response.writeHead(404).end('<html>');
        return true;
      },
    };
    const { adapter } = await openZero(echo, instead);
    expect(await failureOf(call(adapter))).toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { reason: 'no_interface', tried: ['mcp', 'http', 'a2a'], sent: false },
    });
    await expect(adapter.describe(CONTEXT)).rejects.toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
    });
  });

  it.each(['auto', 'mcp', 'http', 'a2a'])('refuses a wrong token: %s', async (lane) => {
    const headers = { 'X-API-KEY': 'not-the-token-at-all' };
    const { adapter } = await openZero(echo, { headers, options: { lane } });
    expect(await failureOf(call(adapter))).toMatchObject({ code: 'AUTH_DENIED' });
  });

  it('is found again after the agent was down', async () => {
    let isDown = true;
    const { adapter } = await openZero(echo, {
      instead: (_request, response) => {
        if (isDown) response.destroy();
        return isDown;
      },
    });
    expect((await failureOf(call(adapter))).code).toBe('AGENT_OFFLINE');
    isDown = false;
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
  });

  it('is looked for again when it was turned off', async () => {
    const lanes: ZeroLane[] = ['mcp', 'http'];
    const { adapter } = await openZero(echo, { lanes });
    await call(adapter);
    lanes.splice(0, 1);
    const isRefused = await call(adapter).catch((error: unknown) => error);
    expect(isRefused).toMatchObject({ code: 'AUTH_DENIED' });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
  });

  it.each(['mcp', 'http', 'a2a'])('is asked for when the agent is described: %s', async (lane) => {
    const { adapter } = await openZero(echo, { lanes: ['rfc'], options: { lane } });
    const described = await failureOf(adapter.describe(CONTEXT));
    expect(['AUTH_DENIED', 'CAPABILITY_NOT_FOUND']).toContain(described.code);
  });

  it('offers one capability when the manifest names none', async () => {
    const { adapter } = await openZero(echo, { change: { capabilities: undefined } });
    const { capabilities } = await adapter.describe(CONTEXT);
    expect(capabilities).toMatchObject([{ name: 'ask', idempotent: false }]);
    const target = { agent_id: 'subject', capability: 'ask' };
    const calls = adapter.call(exampleEnvelope('hello', { target }), CONTEXT);
    expect((await Array.fromAsync(calls)).at(-1)).toMatchObject({ data: { answer: 'hello' } });
  });
});

describe('[G23] an error of Agent Zero that comes as a success', () => {
  it.each<[ZeroLane, object]>([
    ['mcp', { upstream: 'out of paper, with the key [redacted]' }],
    ['a2a', { upstream: { state: 'failed' } }],
  ])('is its own answer: %s', async (lane, details) => {
    const { adapter } = await openZero(failing, { options: { lane } });
    const error = await failureOf(call(adapter));
    expect(error.isAgentAnswer).toBe(true);
    expect(error.details).toMatchObject(details);
  });

  it('is its own answer: http', async () => {
    const { adapter } = await openZero(echo, {
      options: { lane: 'http' },
      instead: (request, response) => {
        if (!request.url?.endsWith('api_message')) return false;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: `bad ${TOKEN}` }));
        return true;
      },
    });
    const error = await failureOf(call(adapter));
    expect(error.isAgentAnswer).toBe(true);
    expect(error.details.upstream).toBe('bad [redacted]');
  });
});

describe('remote functions', () => {
  const functions = { read: 'helpers.rfc_files.read_file', work: 'helpers.work.run' };
  const rfc = { lane: 'rfc', functions };

  it('[G23] are those that the manifest lists, called with the arguments by name', async () => {
    const seen: unknown[] = [];
    const { adapter } = await openZero(
      async ({ attachments }) => {
        seen.push(...attachments);
        return 'content';
      },
      { options: rfc, change: { capabilities: undefined } },
    );
    const { capabilities } = await adapter.describe(CONTEXT);
    expect(capabilities.map(({ name }) => name)).toEqual(['read', 'work']);
    const target = { agent_id: 'subject', capability: 'read' };
    const input = { arguments: { path: '/a0/x' } };
    const calls = adapter.call(exampleEnvelope('', { target, input }), CONTEXT);
    expect((await Array.fromAsync(calls)).at(-1)).toMatchObject({ data: { answer: 'content' } });
    expect(seen).toEqual(['helpers.rfc_files', 'read_file', { path: '/a0/x' }]);
  });

  it('[G23] are refused before anything is sent when they are not listed', async () => {
    const { adapter, server } = await openZero(echo, {
      options: { lane: 'rfc', functions: { other: 'os.system' } },
    });
    expect(await failureOf(call(adapter))).toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { reason: 'not_listed', sent: false },
    });
    expect(server.requests).toEqual([]);
  });

  it('are refused with a wrong password', async () => {
    const env = { RFC_PASSWORD: 'not the password' };
    const { adapter } = await openZero(echo, { options: rfc, env });
    expect((await failureOf(call(adapter))).code).toBe('AUTH_DENIED');
  });

  it.each([
    ['http://agent.example:55080', {}, 'rfc_not_private'],
    ['http://10.0.0.1:55080', {}, 'rfc_not_private'],
    ['http://127.0.0.1:55080', { env: {} }, 'no_rfc_password'],
    ['http://127.0.0.1:1', { options: { lane: 'rfc', functions: { x: 'nodots' } } }, 'bad_options'],
    ['http://127.0.0.1:1/mcp/t-secret/http/', { options: {} }, 'token_in_uri'],
  ])('cannot be set up as %s %o', (uri, world, reason) => {
    expect(() => openZeroAdapter(uri, { options: rfc, ...world })).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({ reason }),
      }),
    );
  });

  it.each(['https://agent.example', 'http://[::1]:55080', 'http://localhost:55080'])(
    'can be set up at %s',
    async (uri) => {
      const adapter = openZeroAdapter(uri, { options: rfc });
      await adapter.close();
    },
  );
});

describe('[G23] the token of Agent Zero', () => {
  it.each([
    ['auto', echo],
    ['mcp', failing],
    ['http', failing],
    ['a2a', failing],
    ['rfc', failing],
  ] as const)('is in no log and no error: %s', async (lane, agent) => {
    const written: unknown[] = [];
    const log = recording(written);
    const options = { lane, functions: { work: 'helpers.work.run' } };
    const { adapter, uri } = await openZero(agent, { options, log });
    const context = { ...CONTEXT, log };
    const errors: unknown[] = [];
    const attempt = async () => {
      const calls = adapter.call(exampleEnvelope('hi'), context);
      await Array.fromAsync(calls).catch((error: unknown) => errors.push(error));
    };
    await attempt();
    written.push(await adapter.health(context), await adapter.describe(context));
    await adapter.close();
    await attempt();
    const elsewhere = openZeroAdapter('http://127.0.0.1:1', { options, log });
    onTestFinished(() => elsewhere.close());
    await Array.fromAsync(elsewhere.call(exampleEnvelope('hi'), context)).catch((error: unknown) =>
      errors.push(error),
    );
    expect(errors.length).toBeGreaterThan(0);
    expect(uri).not.toContain(TOKEN);
    const all = errors.map((error) => (error as FabricError).toPayload(null));
    expect(inspect([all, written], { depth: 12 })).not.toContain(TOKEN);
  });
});

function recording(written: unknown[]): Log {
  const note = (...entry: unknown[]) => void written.push(entry);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  return log;
}

it('serves the next call after one that was cancelled before it was sent', async () => {
  const { adapter } = await openZero(echo, { options: { lane: 'a2a' } });
  const reason = new FabricError('CANCELLED', 'Never mind');
  const error = await runCall(adapter, 'x', AbortSignal.abort(reason));
  expect(error.error?.code).toBe('CANCELLED');
  expect((await runCall(adapter, 'hi')).answer).toBe('hi');
});
