import { type EventBody, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openCoordinationWorld } from './coordination-world.ts';
import { answers, call, connect, fails, openTestGateway, type TestAgent } from './test-gateway.ts';

const percy: TestAgent = { run: answers('forty-two') };

describe('fabric.call', () => {
  it.each(['auto', 'legacy'] as const)('[G4] answers a %s client synchronously', async (mode) => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url, mode);
    const args = { agent_id: 'percy', capability: 'work', task: 'think' };
    const { payload, result } = await call(client, 'fabric.call', args);
    expect(payload).toMatchObject({
      ok: true,
      result: { answer: 'forty-two' },
      agent_id: 'percy',
      capability: 'work',
      attempts: [{ agent_id: 'percy', node_id: 'local', ok: true, ms: expect.any(Number) }],
      fallback: false,
      trace: { trace_id: expect.any(String), span_id: expect.any(String), parent_span_id: null },
    });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(payload) }]);
  });

  it('[G10] makes an envelope with every field before an adapter sees it', async () => {
    let seen: unknown;
    const run: TestAgent['run'] = async function* (envelope) {
      seen = envelope;
      yield { type: 'final', data: { answer: '' } };
    };
    await using world = await openCoordinationWorld({ percy: { run } });
    await world.act('session_manager.create', { session_id: 's-1', agent_id: 'me' });
    await using client = await connect(world.url);
    const { payload } = await call(client, 'fabric.call', {
      capability: 'work',
      task: 'think',
      context: { mood: 'calm' },
      attachments: [{ media_type: 'text/plain', text: 'note' }],
      format: 'json',
      session_id: 's-1',
      idempotency_key: 'once',
    });
    expect(seen).toMatchObject({
      trace: { trace_id: payload.trace.trace_id, parent_span_id: payload.trace.span_id },
      auth: { mode: 'psk', principal_id: 'tester', key_id: 'test', tier: 'org', scp: ['*'] },
      target: { agent_id: 'percy', capability: 'work', timeout_ms: 60_000 },
      input: {
        task: 'think',
        context: { mood: 'calm' },
        attachments: [{ media_type: 'text/plain', text: 'note' }],
      },
      response: { stream: false, format: 'json' },
      hop: { depth: 1, chain: ['percy/work'] },
      session_id: 's-1',
      idempotency_key: 'once',
    });
  });

  it('takes the most trusted agent that is ready when none is named', async () => {
    await using gateway = await openTestGateway({
      a: { manifest: { trust_tier: 'partner' }, run: answers('partner') },
      b: { manifest: { trust_tier: 'local' }, run: answers('local') },
    });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work' });
    expect(payload).toMatchObject({ agent_id: 'b', result: { answer: 'local' } });
  });

  it.each([
    ['an unknown agent', { agent_id: 'nobody', capability: 'work' }, 'CAPABILITY_NOT_FOUND'],
    ['an unknown capability', { agent_id: 'percy', capability: 'fly' }, 'CAPABILITY_NOT_FOUND'],
    ['a capability nobody has', { capability: 'fly' }, 'CAPABILITY_NOT_FOUND'],
    ['no capability', { agent_id: 'percy' }, 'BAD_INPUT'],
    ['a wrong type', { capability: 7 }, 'BAD_INPUT'],
    ['an unknown argument', { capability: 'work', tsk: 'typo' }, 'BAD_INPUT'],
    ['a timeout of nothing', { capability: 'work', timeout_ms: 0 }, 'BAD_INPUT'],
  ])('[G28] refuses %s with the canonical payload', async (_, args, code) => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    const { payload, result } = await call(client, 'fabric.call', args);
    expect(result.isError).toBe(true);
    expect(payload).toMatchObject({
      ok: false,
      error: { code, message: expect.any(String), details: expect.any(Object) },
      trace: { trace_id: expect.any(String), span_id: expect.any(String) },
    });
    expect(result.content).toEqual([{ type: 'text', text: JSON.stringify(payload) }]);
  });

  describe('with a format', () => {
    const toolCall = { id: '1', name: 'search', args: { q: 'x' } };
    const asked: EventBody[] = [
      { type: 'tool_call', data: { ...toolCall, phase: 'start' } },
      { type: 'tool_call', data: { ...toolCall, phase: 'end', result: 'found' } },
    ];
    const onlyData: TestAgent['run'] = async function* () {
      yield { type: 'final', data: { answer: '', data: { n: 1 } } };
    };
    const calls = [
      { id: '7', type: 'function', function: { name: 'pay', arguments: '{"sum":2}' } },
    ];
    const openAi = JSON.stringify({ tool_calls: calls });
    const paid = [{ id: '7', name: 'pay', args: { sum: 2 } }];
    const searched = [{ ...toolCall, result: 'found' }];

    it.each([
      ['text', answers('hello'), { answer: 'hello' }],
      ['text', answers('{"n": 1}'), { answer: '{"n": 1}' }],
      ['text', onlyData, { answer: '{"n":1}', data: { n: 1 } }],
      ['json', answers('{"n": 1}'), { answer: '{"n": 1}', data: { n: 1 } }],
      ['json', answers('```json\n[1]\n```'), { answer: '```json\n[1]\n```', data: [1] }],
      ['json', answers('hello'), { answer: 'hello', data: { answer: 'hello' } }],
      ['json', onlyData, { answer: '{"n":1}', data: { n: 1 } }],
      ['toolcalls', answers('done', ...asked), { answer: 'done', tool_calls: searched }],
      ['toolcalls', answers('done'), { answer: 'done', tool_calls: [] }],
      ['toolcalls', answers(openAi), { answer: openAi, tool_calls: paid }],
    ] as const)('[G39] %s shapes the answer (%#)', async (format, run, result) => {
      await using gateway = await openTestGateway({ percy: { run } });
      await using client = await connect(gateway.url);
      const { payload } = await call(client, 'fabric.call', { capability: 'work', format });
      expect(payload.result).toEqual(result);
    });

    it('[G39] toolcalls asks the agent for its events also when the caller wants none', async () => {
      let streams: boolean | undefined;
      const run: TestAgent['run'] = async function* ({ response }) {
        streams = response.stream;
        yield { type: 'final', data: { answer: '' } };
      };
      await using gateway = await openTestGateway({ percy: { run } });
      await using client = await connect(gateway.url);
      await call(client, 'fabric.call', { capability: 'work', format: 'toolcalls' });
      expect(streams).toBe(true);
    });
  });

  it('belongs to a session only when the caller has an agent there', async () => {
    await using world = await openCoordinationWorld({ percy });
    await using client = await connect(world.url);
    const inSession = { capability: 'work', session_id: 's-1' };
    const foreign = await call(client, 'fabric.call', inSession);
    expect(foreign.payload.error).toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'unknown_session' },
    });
    await world.act('session_manager.create', { session_id: 's-1', agent_id: 'me' });
    expect((await call(client, 'fabric.call', inSession)).payload.ok).toBe(true);
  });

  it('[G28] keeps a bug from the caller and writes it to the log with the trace', async () => {
    const lines: string[] = [];
    const agents = { percy: { run: fails(new TypeError('secret detail')) } };
    await using gateway = await openTestGateway(agents, { log: (line) => lines.push(line) });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work' });
    expect(payload.error.code).toBe('INTERNAL');
    expect(JSON.stringify(payload)).not.toContain('secret detail');
    await expect.poll(() => lines.join('')).toContain('secret detail');
    const line = lines.find((each) => each.includes('secret detail')) ?? '';
    expect(JSON.parse(line).trace_id).toBe(payload.trace.trace_id);
  });

  it('[G32] writes JSON lines with trace and span id on every one', async () => {
    const lines: string[] = [];
    const agents = { percy: { run: fails(new FabricError('TIMEOUT', 'slow')) }, other: percy };
    await using gateway = await openTestGateway(agents, { log: (line) => lines.push(line) });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'percy',
      capability: 'work',
    });
    await call(client, 'fabric.call', { capability: 'nothing' });
    await fetch(`${gateway.url}/mcp`);
    await expect.poll(() => lines.join('')).toContain('AUTH_DENIED');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.stringMatching(/^(debug|info|warn|error)$/),
        time: expect.any(String),
        message: expect.any(String),
        trace_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        span_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
    }
    const calls = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'call');
    expect(calls[0]).toMatchObject({
      trace_id: payload.trace.trace_id,
      agent_id: 'other',
      ok: true,
    });
  });

  it('checks arguments against the schema of the capability', async () => {
    const input_schema = {
      type: 'object',
      properties: { text: { type: 'string' }, n: { type: 'integer' } },
      required: ['text'],
      additionalProperties: false,
    };
    let seen: unknown;
    const run: TestAgent['run'] = async function* ({ input }) {
      seen = input.arguments;
      yield { type: 'final', data: { answer: '' } };
    };
    const manifest = { capabilities: [{ name: 'work', input_schema }] };
    await using gateway = await openTestGateway({ percy: { manifest, run } });
    await using client = await connect(gateway.url);
    const wrong = { capability: 'work', arguments: { text: 'x', n: 'many' } };
    const { payload } = await call(client, 'fabric.call', wrong);
    expect(payload.error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'arguments' } });
    expect(seen).toBeUndefined();
    await call(client, 'fabric.call', { capability: 'work', arguments: { text: 'x', n: 3 } });
    expect(seen).toEqual({ text: 'x', n: 3 });
    const context = { text: 'from context', other: 'left out' };
    await call(client, 'fabric.call', { capability: 'work', task: 'also left out', context });
    expect(seen).toEqual({ text: 'from context' });
  });

  it('[G29] cuts an agent that hangs at its timeout', async () => {
    const run: TestAgent['run'] = async function* () {
      yield { type: 'token', data: { text: 'so far' } };
      await new Promise(() => {});
    };
    await using gateway = await openTestGateway({ percy: { run } });
    await using client = await connect(gateway.url);
    const args = { agent_id: 'percy', capability: 'work', timeout_ms: 100 };
    const { payload } = await call(client, 'fabric.call', args);
    expect(payload.error).toMatchObject({
      code: 'TIMEOUT',
      details: { primary: 'percy@local: timeout', fallbacks: [] },
    });
  });

  it('bounds the whole call by its deadline, however many agents there are', async () => {
    const hang: TestAgent = { run: fails(new FabricError('TIMEOUT', 'slow')) };
    const slow: TestAgent = {
      run: async function* (_, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        yield { type: 'token', data: { text: '' } };
      },
    };
    await using gateway = await openTestGateway({ a: slow, b: slow, c: slow, d: hang });
    await using client = await connect(gateway.url);
    const args = { agent_id: 'a', capability: 'work', timeout_ms: 500, deadline_ms: 950 };
    const { payload } = await call(client, 'fabric.call', args);
    expect(payload.error.code).toBe('TIMEOUT');
    expect(payload.error.details.attempts).toHaveLength(2);
  });

  it('refuses an answer beyond the limit', async () => {
    const config = { limits: { result_bytes: 1000 } };
    const agents = { percy: { run: answers('x'.repeat(1001)) } };
    await using gateway = await openTestGateway(agents, { config });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { capability: 'work' });
    expect(payload.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'result_too_large' },
    });
  });
});
