import { createTrace, toHeaders } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, openTestGateway, type TestAgent } from './test-gateway.ts';

const args = { agent_id: 'percy', capability: 'work' };
const percy: TestAgent = { run: answers('served') };
const meta = (traceId: string, depth?: unknown, chain?: string) => ({
  'x-openstarry-trace-id': traceId,
  ...(depth !== undefined && { 'x-openstarry-depth': depth }),
  ...(chain !== undefined && { 'io.starloom/chain': chain }),
});

describe('the recursion guard', () => {
  it('[A6] serves depth 5 and refuses 6, and a refused trace stays refused', async () => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    const { trace_id } = createTrace();
    const fifth = await call(client, 'fabric.call', args, { meta: meta(trace_id, 5) });
    expect(fifth.payload.ok).toBe(true);
    const sixth = await call(client, 'fabric.call', args, { meta: meta(trace_id, '6') });
    expect(sixth.payload).toMatchObject({
      error: { code: 'RECURSION_LIMIT', details: { depth: 6, limit: 5 } },
      trace: { trace_id },
    });
    const after = await call(client, 'fabric.call', args, { meta: meta(trace_id, 1) });
    expect(after.payload.error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { reason: 'tripped' },
    });
    const other = await call(client, 'fabric.call', args, {
      meta: meta(createTrace().trace_id, 1),
    });
    expect(other.payload.ok).toBe(true);
  });

  it('[A5] takes trace and depth from headers as well, the larger depth counting', async () => {
    await using gateway = await openTestGateway({ percy });
    const trace = createTrace();
    const headers = toHeaders(trace, { depth: 6, chain: [] });
    await using client = await connect(gateway.url, 'auto', headers);
    const { payload } = await call(client, 'fabric.call', args, { meta: meta(trace.trace_id, 2) });
    expect(payload.error.code).toBe('RECURSION_LIMIT');
  });

  it('[A5] reads the keys as the seed spells them, and refuses spellings that disagree', async () => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    const { trace_id } = createTrace();
    const ask = async (meta: Record<string, unknown>) =>
      (await call(client, 'fabric.call', args, { meta })).payload;
    const served = { 'X-OpenStarry-Trace-ID': trace_id, 'X-OpenStarry-Depth': 5 };
    expect(await ask(served)).toMatchObject({ ok: true, trace: { trace_id } });
    expect(await ask({ ...served, 'X-OpenStarry-Depth': 6 })).toMatchObject({
      error: { code: 'RECURSION_LIMIT' },
      trace: { trace_id },
    });
    const twice = { 'X-OpenStarry-Depth': 1, 'x-openstarry-depth': 2 };
    expect(await ask(twice)).toMatchObject({ error: { code: 'BAD_INPUT' } });
  });

  it('[G15] goes on with the trace of the caller, in the answer and towards the agent', async () => {
    let seen: unknown;
    const run: TestAgent['run'] = async function* ({ trace, hop }) {
      seen = { trace, hop };
      yield { type: 'final', data: { answer: '' } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const caller = createTrace();
    const headers = toHeaders(caller, { depth: 2, chain: ['boss/plan'] });
    await using client = await connect(gateway.url, 'auto', headers);
    const { payload } = await call(client, 'fabric.call', args);
    expect(payload.trace.trace_id).toBe(caller.trace_id);
    expect(payload.trace.parent_span_id?.slice(0, 18)).toBe(caller.span_id.slice(0, 18));
    expect(seen).toMatchObject({
      trace: { trace_id: caller.trace_id, parent_span_id: payload.trace.span_id },
      hop: { depth: 2, chain: ['boss/plan', 'percy/work'] },
    });
  });

  it('[A6] names the cycle that a call would close, unless the capability is reentrant', async () => {
    const manifest = { capabilities: [{ name: 'work', reentrant: true }] };
    await using gateway = await openTestGateway({
      percy,
      again: { manifest, run: answers('again') },
    });
    await using client = await connect(gateway.url);
    const chain = 'a/x,percy/work,again/work';
    const { payload } = await call(client, 'fabric.call', args, {
      meta: meta(createTrace().trace_id, 3, chain),
    });
    expect(payload.error).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { cycle: ['percy/work', 'again/work', 'percy/work'] },
    });
    const reentrant = await call(
      client,
      'fabric.call',
      { agent_id: 'again', capability: 'work' },
      { meta: meta(createTrace().trace_id, 3, chain) },
    );
    expect(reentrant.payload.result.answer).toBe('again');
  });

  it('[A6] catches agents that call each other and drop depth and chain', async () => {
    let calls = 0;
    const agents: Record<string, TestAgent> = {};
    let url = '';
    const callsOn = (next: string): TestAgent['run'] =>
      async function* ({ trace }) {
        calls += 1;
        await using client = await connect(url);
        const { payload } = await call(
          client,
          'fabric.call',
          { agent_id: next, capability: 'work' },
          { meta: meta(trace.trace_id) },
        );
        yield { type: 'final', data: { answer: payload.error?.code ?? payload.result.answer } };
      };
    agents.ping = { run: callsOn('pong') };
    agents.pong = { run: callsOn('ping') };
    await using gateway = await openTestGateway(agents);
    url = gateway.url;
    await using client = await connect(url);
    const { payload } = await call(client, 'fabric.call', { agent_id: 'ping', capability: 'work' });
    expect(payload.result.answer).toBe('RECURSION_LIMIT');
    expect(calls).toBe(5);
  });

  it.each([-1, 1001, 'deep', 1.5, '0x5'])('refuses a depth of %j', async (depth) => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', args, {
      meta: meta(createTrace().trace_id, depth),
    });
    expect(payload.error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'depth' } });
  });

  it('does not count a refused recursion against the agent', async () => {
    await using gateway = await openTestGateway({ percy });
    await using client = await connect(gateway.url);
    for (let n = 0; n < 10; n += 1) {
      await call(client, 'fabric.call', args, { meta: meta(createTrace().trace_id, 6) });
    }
    expect((await call(client, 'fabric.call', args)).payload.ok).toBe(true);
  });
});
