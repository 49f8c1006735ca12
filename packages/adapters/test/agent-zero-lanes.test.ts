import { inspect } from 'node:util';
import {
  type AgentHandle,
  type CallContext,
  FabricError,
  type Log,
  silentLog,
} from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCall } from './fixtures/agent-world.ts';
import { TOKEN, type ZeroAgent, type ZeroLane } from './fixtures/agent-zero-server.ts';
import { openZero, openZeroAdapter } from './fixtures/open-zero.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const echo: ZeroAgent = async ({ message }) => message;
const counting: ZeroAgent = async ({ turn }) => String(turn);
const failing: ZeroAgent = async () => {
  throw new Error(`out of paper, with the key ${TOKEN}`);
};

function call(
  adapter: ReturnType<typeof openZeroAdapter>,
  more: Partial<CallContext> = {},
  input: object = { task: 'hi' },
) {
  return Array.fromAsync(adapter.call(exampleEnvelope('', { input }), { ...CONTEXT, ...more }));
}

async function failureOf(outcome: Promise<unknown>): Promise<FabricError> {
  const error = await outcome.then(
    () => expect.fail('it succeeded'),
    (thrown: unknown) => thrown,
  );
  if (!FabricError.is(error)) throw error;
  return error;
}

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

describe('a chat with Agent Zero', () => {
  it.each<ZeroLane>(['mcp', 'http'])('goes on with its handle: %s', async (lane) => {
    const { adapter } = await openZero(counting, { options: { lane } });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    const answers = [];
    for (let round = 0; round < 3; round += 1) {
      answers.push((await call(adapter, { handle, keep })).at(-1)?.data);
    }
    expect(answers).toMatchObject([{ answer: '0' }, { answer: '1' }, { answer: '2' }]);
  });

  it.each<ZeroLane>(['mcp', 'http'])('that is gone is unknown_conversation: %s', async (lane) => {
    const { adapter } = await openZero(counting, { options: { lane } });
    const error = await failureOf(call(adapter, { handle: { chat: 'gone' } }));
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'unknown_conversation' } });
  });

  it.each<ZeroLane>(['mcp', 'http'])('is not kept where chats are not: %s', async (lane) => {
    const options = { lane, keep_chats: false };
    const { adapter, server } = await openZero(counting, { options });
    const kept: AgentHandle[] = [];
    await call(adapter, { keep: (handle) => kept.push(handle) });
    expect(kept).toEqual([]);
    await expect.poll(() => server.chats.size).toBe(0);
  });

  it('keeps no conversation over a2a: each task has a chat of its own', async () => {
    const { adapter } = await openZero(counting, { options: { lane: 'a2a' } });
    const kept: AgentHandle[] = [];
    await call(adapter, { keep: (handle) => kept.push(handle) });
    expect(kept).toEqual([]);
  });

  it('reads text alone: what else the caller gave stands below the task', async () => {
    const { adapter } = await openZero(echo, { options: { lane: 'http' } });
    const input = { task: 'sum up', arguments: { task: 'sum up', words: 10 } };
    const [last] = (await call(adapter, {}, input)).slice(-1);
    expect(last).toMatchObject({ data: { answer: 'sum up\n\n{\n  "words": 10\n}' } });
  });

  it('gets files as its interface takes them', async () => {
    const seen: unknown[] = [];
    const agent: ZeroAgent = async ({ attachments }) => {
      seen.push(...attachments);
      return 'ok';
    };
    const file = { media_type: 'text/plain', name: 'a.txt', text: 'hi' };
    const link = { media_type: 'text/html', uri: 'https://example.org/' };
    const send = async (lane: string, attachment: object) => {
      const { adapter } = await openZero(agent, { options: { lane } });
      return call(adapter, {}, { task: 'read', attachments: [attachment] });
    };
    await send('http', file);
    await send('mcp', link);
    await send('a2a', link);
    expect(seen).toEqual([
      { filename: 'a.txt', base64: 'aGk=' },
      'https://example.org/',
      { uri: 'https://example.org/', mimeType: 'text/html' },
    ]);
    expect(await failureOf(send('http', link))).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'attachments_unsupported', sent: false },
    });
  });
});

describe('the HTTP interface', () => {
  it('is found where versions before 1 have it', async () => {
    const { adapter, server } = await openZero(echo, { prefix: '', options: { lane: 'http' } });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
    expect((await call(adapter)).at(-1)).toMatchObject({ data: { answer: 'hi' } });
    const tried = server.requests.filter((request) => request === 'POST /api/api_message');
    expect(tried).toHaveLength(1);
  });

  it('tells what the agent does while it does it, and nothing of earlier messages', async () => {
    const gate = Promise.withResolvers<void>();
    const agent: ZeroAgent = async ({ turn, log }) => {
      log({ type: 'agent', heading: `icon://x A0: turn ${turn}` });
      log({ type: 'code_exe', heading: 'run', kvps: { code: 'ls' }, content: 'a.txt' });
      if (turn > 0) await gate.promise;
      return 'done';
    };
    const { adapter } = await openZero(agent, { options: { lane: 'http' } });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    const first = await call(adapter, { keep });
    expect(first.map(({ type }) => type)).toEqual(['progress', 'tool_call', 'tool_call', 'final']);
    const events = [];
    for await (const event of adapter.call(exampleEnvelope('go on'), { ...CONTEXT, handle })) {
      events.push(event);
      if (event.type === 'tool_call') gate.resolve();
    }
    expect(events).toEqual([
      { type: 'progress', data: { message: 'A0: turn 1' } },
      {
        type: 'tool_call',
        data: { id: 'log-6', name: 'code_exe', args: { code: 'ls' }, phase: 'start' },
      },
      {
        type: 'tool_call',
        data: {
          id: 'log-6',
          name: 'code_exe',
          args: { code: 'ls' },
          phase: 'end',
          result: 'a.txt',
        },
      },
      { type: 'final', data: { answer: 'done' } },
    ]);
  });

  it.each([
    ['is missing', 404, 'text/html', '<html>'],
    [
      'is garbage',
      200,
      'application/json',
      '{"log":{"items":[7,{"no":"x"},{"no":-1,"type":"tool"}]}}',
    ],
    ['is no JSON', 200, 'application/json', '{'],
  ])('does without a log that %s', async (_, status, type, body) => {
    const { adapter } = await openZero(echo, {
      options: { lane: 'http' },
      instead: (request, response) => {
        if (!request.url?.endsWith('api_log_get')) return false;
        response.writeHead(status, { 'content-type': type }).end(body);
        return true;
      },
    });
    expect(await call(adapter)).toEqual([{ type: 'final', data: { answer: 'hi' } }]);
  });

  it.each([
    [true, 0],
    [false, 1],
  ])('ends a cancelled chat where that is set: %s', async (terminate_on_cancel, left) => {
    const agent: ZeroAgent = ({ turn, signal }) =>
      turn === 0
        ? Promise.resolve('ok')
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const options = { lane: 'http', terminate_on_cancel };
    const { adapter, server } = await openZero(agent, { options });
    let handle: AgentHandle = {};
    const keep = (kept: AgentHandle) => {
      handle = kept;
    };
    await call(adapter, { keep });
    const control = new AbortController();
    const cancelled = failureOf(call(adapter, { handle, signal: control.signal }));
    await expect.poll(() => [...server.chats.values()][0]?.turns).toBe(2);
    control.abort(new FabricError('CANCELLED', 'Never mind'));
    expect((await cancelled).code).toBe('CANCELLED');
    await expect.poll(() => server.chats.size).toBe(left);
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
