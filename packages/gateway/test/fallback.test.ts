import { capabilitySchema, type EventBody, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, fails, openTestGateway, type TestAgent } from './test-gateway.ts';

const offline = fails(new FabricError('AGENT_OFFLINE', 'gone', { details: { sent: false } }));
const broken = fails(new FabricError('UPSTREAM_ERROR', 'broken'));
const timeout = fails(new FabricError('TIMEOUT', 'slow'));
const args = { agent_id: 'percy', capability: 'work', stream: true };
const named = { fallbacks: ['backup'] };

async function callThrough(agents: Record<string, TestAgent>, more: Record<string, unknown> = {}) {
  await using gateway = await openTestGateway(agents);
  await using client = await connect(gateway.url);
  return await call(client, 'fabric.call', { ...args, ...more });
}

describe('fallback', () => {
  it.each([
    ['times out', timeout, 'TIMEOUT'],
    ['is offline', offline, 'AGENT_OFFLINE'],
    ['fails', broken, 'UPSTREAM_ERROR'],
  ])('[G30] goes to the named agent when the primary %s, and says so', async (_, run, code) => {
    const { payload, events } = await callThrough({
      percy: { manifest: { ...named, node_id: 'node-1' }, run },
      backup: { manifest: { node_id: 'node-2', trust_tier: 'public' }, run: answers('saved') },
    });
    expect(payload).toMatchObject({
      ok: true,
      agent_id: 'backup',
      fallback: true,
      result: { answer: 'saved' },
      attempts: [
        { agent_id: 'percy', node_id: 'node-1', ok: false, code },
        { agent_id: 'backup', node_id: 'node-2', ok: true },
      ],
    });
    const states = events.flatMap((event) => (event.type === 'status' ? event.data.state : []));
    expect(states).toEqual(['accepted', 'routed', 'started', 'retrying', 'started']);
  });

  it('[G30] answers with primary and fallbacks in the form of the seed when all failed', async () => {
    const { payload } = await callThrough({
      percy: { manifest: { ...named, node_id: 'node-1' }, run: timeout },
      backup: { manifest: { node_id: 'node-2' }, run: offline },
    });
    expect(payload.error).toMatchObject({
      code: 'AGENT_OFFLINE',
      message: 'Agent percy unavailable and all fallbacks failed',
      details: { primary: 'percy@node-1: timeout', fallbacks: ['backup@node-2: offline'] },
    });
  });

  it('[G30] keeps the code that all failures have in common', async () => {
    const { payload } = await callThrough({
      percy: { manifest: named, run: timeout },
      backup: { run: timeout },
    });
    expect(payload.error.code).toBe('TIMEOUT');
  });

  it('[G30] lists no agent as its own fallback, and speaks of fallbacks only if there were any', async () => {
    const alone = await callThrough({ percy: { run: broken } });
    expect(alone.payload.error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      message: 'broken',
      details: { primary: 'percy@local: error', fallbacks: [] },
    });
    expect(alone.payload.error.details.attempts).toHaveLength(2);
    const both = await callThrough({
      percy: { manifest: named, run: broken },
      backup: { run: timeout },
    });
    expect(both.payload.error.details).toMatchObject({
      primary: 'percy@local: error',
      fallbacks: ['backup@local: timeout'],
    });
    expect(both.payload.error.details.attempts).toHaveLength(3);
  });

  it('[G31] tries named agents, then peers trusted at least as far, never others', async () => {
    const { payload } = await callThrough({
      percy: { manifest: named, run: broken },
      backup: { run: broken, manifest: { trust_tier: 'public' } },
      equal: { run: broken },
      higher: { run: broken, manifest: { trust_tier: 'local' } },
      lower: { run: answers('never asked'), manifest: { trust_tier: 'partner' } },
    });
    const order = payload.error.details.attempts.map(
      ({ agent_id }: { agent_id: string }) => agent_id,
    );
    expect(order).toEqual(['percy', 'backup', 'higher', 'equal', 'percy']);
  });

  it('[G31] tries once more without streaming when streaming broke', async () => {
    const run: TestAgent['run'] = async function* ({ response }) {
      if (response.stream) throw new FabricError('UPSTREAM_ERROR', 'cannot stream today');
      yield { type: 'final', data: { answer: 'whole' } };
    };
    const { payload, events } = await callThrough({ percy: { run } });
    expect(payload).toMatchObject({
      ok: true,
      agent_id: 'percy',
      result: { answer: 'whole' },
      attempts: [{ ok: false }, { ok: true }],
      fallback: false,
    });
    const states = events.flatMap((event) => (event.type === 'status' ? event.data.state : []));
    expect(states).toContain('degraded');
  });

  it('[G31] asks an agent that cannot stream without streaming, and says so', async () => {
    let asked: boolean | undefined;
    const run: TestAgent['run'] = async function* ({ response }) {
      asked = response.stream;
      yield { type: 'final', data: { answer: 'whole' } };
    };
    const manifest = { capabilities: [{ name: 'work', streaming: false }] };
    const { events } = await callThrough({ percy: { manifest, run } });
    expect(asked).toBe(false);
    expect(events).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ state: 'degraded' }) }),
    );
  });

  it('tells the client to discard tokens of an attempt that failed', async () => {
    const run: TestAgent['run'] = async function* () {
      yield { type: 'token', data: { text: 'wrong start' } };
      throw new FabricError('UPSTREAM_ERROR', 'broke off');
    };
    const { payload, events } = await callThrough({
      percy: { manifest: named, run },
      backup: { run: answers('right') },
    });
    expect(payload.result.answer).toBe('right');
    const discard = events.findIndex(
      (event) => event.type === 'status' && event.data.state === 'discard',
    );
    const wrong = events.findIndex(({ type }) => type === 'token');
    expect(wrong).toBeGreaterThan(-1);
    expect(discard).toBeGreaterThan(wrong);
  });

  describe('and side effects', () => {
    const toolCall: EventBody = {
      type: 'tool_call',
      data: { id: '1', name: 'pay', args: {}, phase: 'start' },
    };
    const afterEffect: TestAgent['run'] = async function* () {
      yield toolCall;
      throw new FabricError('UPSTREAM_ERROR', 'broke off');
    };
    const backup = { run: answers('again') };
    const capability = (idempotent?: boolean) => ({
      ...named,
      capabilities: [
        { name: 'work', streaming: true, ...(idempotent !== undefined && { idempotent }) },
      ],
    });

    it('goes elsewhere after a tool call only when the capability is idempotent', async () => {
      const unset = await callThrough({
        percy: { manifest: capability(), run: afterEffect },
        backup,
      });
      expect(unset.payload.error.details.attempts).toHaveLength(1);
      const marked = await callThrough({
        percy: { manifest: capability(true), run: afterEffect },
        backup,
      });
      expect(marked.payload.result.answer).toBe('again');
    });

    it('goes elsewhere with what is not idempotent only when nothing was sent', async () => {
      const manifest = capability(false);
      const sent = await callThrough({ percy: { manifest, run: broken }, backup });
      expect(sent.payload.ok).toBe(false);
      const unsent = await callThrough({ percy: { manifest, run: offline }, backup });
      expect(unsent.payload.result.answer).toBe('again');
    });
  });

  it('does not go elsewhere with what the caller did wrong', async () => {
    const { payload } = await callThrough({
      percy: { manifest: named, run: fails(new FabricError('BAD_INPUT', 'no such file')) },
      backup: { run: answers('never asked') },
    });
    expect(payload.error).toMatchObject({ code: 'BAD_INPUT', message: 'no such file' });
  });

  it('opens the circuit of an agent that keeps failing, and says so in the trail', async () => {
    let asked = 0;
    const run: TestAgent['run'] = (...call) => {
      asked += 1;
      return timeout(...call);
    };
    await using gateway = await openTestGateway({
      percy: { manifest: named, run },
      backup: { run: answers('saved') },
    });
    await using client = await connect(gateway.url);
    for (let n = 0; n < 8; n += 1) await call(client, 'fabric.call', args);
    expect(asked).toBe(5);
    const preview = await call(client, 'fabric.route.preview', {
      agent_id: 'percy',
      capability: 'work',
    });
    expect(preview.payload.primary).toMatchObject({
      breaker: 'open',
      availability: 'open-circuit',
    });
  });

  it('[G36] skips an agent that is known to be offline, and reaches it again when it is back', async () => {
    let down = true;
    const run: TestAgent['run'] = async function* () {
      if (down) throw new FabricError('AGENT_OFFLINE', 'gone', { details: { sent: false } });
      yield { type: 'final', data: { answer: 'back' } };
    };
    await using gateway = await openTestGateway({
      percy: { manifest: named, run },
      backup: { run: answers('saved') },
    });
    await using client = await connect(gateway.url);
    await call(client, 'fabric.call', args);
    const list = await call(client, 'fabric.agent.list', { status: 'offline' });
    expect(list.payload.agents).toMatchObject([{ agent_id: 'percy' }]);
    down = false;
    await expect
      .poll(async () => (await call(client, 'fabric.call', args)).payload.agent_id, {
        timeout: 10_000,
      })
      .toBe('percy');
  });

  describe('and the own answer of an agent', () => {
    const content = [
      { type: 'text', text: 'Access denied' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
    ];
    const answer = { isError: true, content, _meta: { 'acme/why': 1 } };
    const denied = fails(
      new FabricError('UPSTREAM_ERROR', 'The tool answered with an error', {
        details: { reason: 'tool_error', upstream: 'Access denied' },
        answer,
      }),
    );

    it('never asks another agent, and reaches the caller as the agent wrote it', async () => {
      let asked = 0;
      const backup: TestAgent['run'] = (...given) => {
        asked += 1;
        return answers('done by another')(...given);
      };
      await using gateway = await openTestGateway({
        percy: { manifest: named, run: denied },
        backup: { run: backup },
        peer: { run: backup },
      });
      await using client = await connect(gateway.url);
      for (let n = 0; n < 8; n += 1) {
        const { result } = await call(client, 'percy.work', {});
        expect(result).toMatchObject({ isError: true, content });
        expect(result.structuredContent).toBeUndefined();
        expect(result._meta).toMatchObject({
          'acme/why': 1,
          'io.starloom/call': { agent_id: 'percy', fallback: false },
          'io.starloom/error': { error: { code: 'UPSTREAM_ERROR' } },
        });
      }
      const { payload } = await call(client, 'fabric.call', args);
      expect(payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error', upstream: 'Access denied', agent_id: 'percy' },
      });
      expect(asked).toBe(0);
      const preview = await call(client, 'fabric.route.preview', { ...args, stream: false });
      expect(preview.payload.primary.breaker).toBe('closed');
    });

    describe('where its capability says fallback_on: [tool_error]', () => {
      const work = { name: 'work', streaming: true };
      const manifest = {
        fallbacks: ['guessed', 'backup'],
        capabilities: [{ ...work, idempotent: true, fallback_on: ['tool_error' as const] }],
      };
      const percy = { manifest, run: denied };
      const guessed = {
        manifest: { capabilities: undefined },
        describe: async () => ({ version: '1', capabilities: [capabilitySchema.parse(work)] }),
        run: answers('never asked'),
      };
      const peer = { run: answers('never asked') };

      it('[G30] lets a named agent that declares the same capability answer', async () => {
        const backup = { run: answers('saved') };
        const { payload } = await callThrough({ percy, guessed, peer, backup });
        expect(payload).toMatchObject({
          ok: true,
          agent_id: 'backup',
          fallback: true,
          attempts: [{ agent_id: 'percy', code: 'UPSTREAM_ERROR' }, { agent_id: 'backup' }],
        });
      });

      it.each([
        ['answers with an error of its own', denied],
        ['is offline', offline],
        ['refuses the arguments', fails(new FabricError('BAD_INPUT', 'not mine'))],
      ])('[G30] is the outcome when the named agent %s', async (_, run) => {
        const { payload } = await callThrough({ percy, guessed, peer, backup: { run } });
        expect(payload.error).toMatchObject({
          code: 'UPSTREAM_ERROR',
          details: { reason: 'tool_error', upstream: 'Access denied', agent_id: 'percy' },
        });
        const { attempts, fallback } = payload.error.details;
        expect(attempts.map((one: { agent_id: string }) => one.agent_id)).toEqual([
          'percy',
          'backup',
        ]);
        expect(fallback).toBe(false);
      });
    });

    it('is the outcome also when it came from a fallback', async () => {
      const { payload } = await callThrough({
        percy: { manifest: named, run: offline },
        backup: { run: denied },
        peer: { run: answers('never asked') },
      });
      expect(payload.error).toMatchObject({
        code: 'UPSTREAM_ERROR',
        details: { reason: 'tool_error', agent_id: 'backup', fallback: true },
      });
      expect(payload.error.details.attempts).toHaveLength(2);
    });
  });

  it('does not go elsewhere after the agent asked a question', async () => {
    const asks: TestAgent['run'] = async function* () {
      yield { type: 'status', data: { state: 'awaiting_input' } };
      throw new FabricError('UPSTREAM_ERROR', 'broke off');
    };
    const { payload } = await callThrough({
      percy: { manifest: named, run: asks },
      backup: { run: answers('never asked') },
    });
    expect(payload.error.details.attempts).toHaveLength(1);
  });

  it('[G29] bounds each attempt by the capability of the agent that is asked', async () => {
    const seen: Record<string, number> = {};
    const run: TestAgent['run'] = async function* ({ target }) {
      seen[target.agent_id] = target.timeout_ms;
      if (target.agent_id === 'percy') throw new FabricError('TIMEOUT', 'slow');
      yield { type: 'final', data: { answer: 'done' } };
    };
    const within = (timeout_ms: number) => ({ capabilities: [{ name: 'work', timeout_ms }] });
    await callThrough({
      percy: { manifest: { ...named, ...within(4_000) }, run },
      backup: { manifest: within(7_000), run },
    });
    expect(seen).toEqual({ percy: 4_000, backup: 7_000 });
    await callThrough(
      {
        percy: { manifest: { ...named, ...within(4_000) }, run },
        backup: { manifest: within(7_000), run },
      },
      { timeout_ms: 500 },
    );
    expect(seen).toEqual({ percy: 500, backup: 500 });
  });
});
