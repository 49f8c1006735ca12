import { createTrace, FabricError, type JournalCall } from '@starloom/core';
import { createPskVerifier } from '@starloom/identity';
import { createMemoryJobEngine } from '@starloom/jobs';
import { openJournal } from '@starloom/journal';
import { describe, expect, it } from 'vitest';
import {
  answers,
  call,
  connect,
  fails,
  KEY,
  openTestGateway,
  type TestAgent,
  type TestGatewayOptions,
} from './test-gateway.ts';

const OWN_KEY = 'plain-key-0123456789abcde';
const psk = createPskVerifier([
  { key_id: 'test', key: KEY, principal: 'tester', tier: 'org', scopes: ['*'] },
  { key_id: 'own', key: OWN_KEY, principal: 'guest', tier: 'org', scopes: ['toolset:agents'] },
]);
const offline = fails(new FabricError('AGENT_OFFLINE', 'gone', { details: { sent: false } }));
const AGENTS: Record<string, TestAgent> = {
  percy: { manifest: { fallbacks: ['backup'], node_id: 'node-1' }, run: offline },
  backup: { manifest: { trust_tier: 'public' }, run: answers('saved') },
  coder: {
    manifest: { capabilities: [{ name: 'work', streaming: true, cost: 3 }] },
    run: answers('done'),
  },
};

async function open(options: TestGatewayOptions = {}) {
  const journal = await openJournal({ kind: 'memory' }, { calls: 1_000, gateway: 'here' });
  const gateway = await openTestGateway(AGENTS, { psk, journal, ...options });
  const client = await connect(gateway.url);
  const guest = await connect(gateway.url, 'auto', { authorization: `Bearer ${OWN_KEY}` });
  return {
    journal,
    client,
    guest,
    url: gateway.url,
    async calls(): Promise<readonly JournalCall[]> {
      await journal.flushed();
      return (await journal.list({}, { limit: 100 })).calls;
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await guest.close();
      await gateway[Symbol.asyncDispose]();
      await journal.close();
    },
  };
}

describe('the journal of a gateway', () => {
  it('[G33] says of a call who called, how it was routed, what was tried and what came back', async () => {
    await using world = await open();
    const args = { agent_id: 'percy', capability: 'work', task: 'secret plan', stream: true };
    const { payload } = await call(world.client, 'fabric.call', args);
    const [entry] = await world.calls();
    expect(entry).toMatchObject({
      trace_id: payload.trace.trace_id,
      span_id: payload.trace.span_id,
      face: 'mcp',
      transport: 'http',
      tool: 'fabric.call',
      principal: 'tester',
      depth: 1,
      chain: [],
      agent_id: 'backup',
      capability: 'work',
      stream: true,
      fallback: true,
      code: null,
      route: [
        { agent_id: 'percy', node_id: 'node-1', kind: 'primary', availability: 'ready' },
        { agent_id: 'backup', kind: 'fallback', reason: expect.stringContaining('percy') },
        { agent_id: 'coder', kind: 'peer' },
      ],
      attempts: [
        { agent_id: 'percy', node_id: 'node-1', code: 'AGENT_OFFLINE', sent: false },
        { agent_id: 'backup', code: null, sent: true, fallback: true },
      ],
      events: { status: expect.any(Number), final: 1 },
    });
    const {
      began_at,
      ended_at,
      ms,
      admitted_ms = -1,
      routed_ms = -1,
      bytes_in,
    } = entry ?? ({} as JournalCall);
    expect(admitted_ms).toBeGreaterThanOrEqual(0);
    expect(routed_ms).toBeGreaterThanOrEqual(admitted_ms);
    expect((ended_at ?? 0) - began_at).toBeCloseTo(ms ?? -1, -1);
    expect(bytes_in).toBeGreaterThanOrEqual('secret plan'.length);
    expect(JSON.stringify(entry)).not.toContain('secret plan');
  });

  it('keeps arguments and results when it may, without known secrets', async () => {
    await using world = await open({
      config: { journal: { kind: 'sqlite', payloads: 'redacted' } },
    });
    const given = { password: 'hunter2', path: '/etc' };
    await call(world.client, 'fabric.call', {
      agent_id: 'coder',
      capability: 'work',
      task: 'x',
      arguments: given,
    });
    const [entry] = await world.calls();
    expect(entry?.input).toContain('/etc');
    expect(entry?.input).not.toContain('hunter2');
    expect(entry?.output).toContain('done');
    expect(entry?.cost).toBe(3);
  });

  it('has calls of jobs, of tools of the gateway, and refusals; and no signs of life', async () => {
    await using world = await open({ jobs: createMemoryJobEngine() });
    const asked = { agent_id: 'coder', capability: 'work', task: 'x' };
    const { payload } = await call(world.client, 'fabric.call', { ...asked, async: true });
    await call(world.client, 'fabric.job.stream', { job_id: payload.job_id });
    await call(world.client, 'fabric.agent.list', {});
    await call(world.client, 'fabric.health', {});
    await call(world.client, 'fabric.call', { ...asked, capability: 'fly' });
    const calls = await world.calls();
    const job = calls.find(({ face }) => face === 'job');
    expect(job).toMatchObject({ job_id: payload.job_id, agent_id: 'coder', principal: 'tester' });
    expect(calls.find(({ tool }) => tool === 'fabric.agent.list')).toMatchObject({ code: null });
    expect(calls.find(({ code }) => code === 'CAPABILITY_NOT_FOUND')).toMatchObject({
      agent_id: 'coder',
      capability: 'fly',
      reason: expect.any(String),
    });
    expect(calls.some(({ tool }) => tool === 'fabric.health')).toBe(false);
  });

  it('shows a call while it runs', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const journal = await openJournal({ kind: 'memory' }, { calls: 1_000, gateway: 'here' });
    const slow: TestAgent = {
      async *run() {
        await promise;
        yield { type: 'final', data: { answer: 'late' } };
      },
    };
    await using gateway = await openTestGateway({ slow }, { journal });
    await using client = await connect(gateway.url);
    const called = call(client, 'fabric.call', { agent_id: 'slow', capability: 'work', task: '' });
    const running = () => journal.list({ status: 'running' }, { limit: 1 });
    await expect.poll(async () => (await running()).calls, { timeout: 20_000 }).toHaveLength(1);
    resolve();
    await called;
    await journal.flushed();
    expect((await running()).calls).toEqual([]);
    expect((await journal.list({}, { limit: 9 })).calls).toMatchObject([
      { code: null, ended_at: expect.any(Number) },
    ]);
    await journal.close();
  });

  it('shows callers their own calls, and those of others to operators alone', async () => {
    await using world = await open();
    const args = { agent_id: 'coder', capability: 'work', task: 'x' };
    const { payload: foreign } = await call(world.client, 'fabric.call', args);
    await call(world.guest, 'fabric.call', args);
    await world.journal.flushed();
    const principals = async (client: typeof world.client, more = {}) =>
      (await call(client, 'fabric.calls.list', more)).payload.calls?.map(
        (one: JournalCall) => one.principal,
      );
    expect(await principals(world.client)).toEqual(['guest', 'tester']);
    expect(await principals(world.guest)).toEqual(['guest']);
    const { payload: refused } = await call(world.guest, 'fabric.calls.list', {
      principal: 'tester',
    });
    expect(refused.error.code).toBe('AUTH_DENIED');
    const { trace_id } = foreign.trace;
    const { payload: hidden } = await call(world.guest, 'fabric.calls.trace', { trace_id });
    expect(hidden.error.details.reason).toBe('unknown_trace');
    const { payload: shown } = await call(world.client, 'fabric.calls.trace', { trace_id });
    expect(shown.calls).toHaveLength(1);
    const usage = async (client: typeof world.client) =>
      (await call(client, 'fabric.usage', { by: 'caller' })).payload.rows.map(
        (row: { key: string; cost: number }) => [row.key, row.cost],
      );
    expect(await usage(world.guest)).toEqual([['guest', 3]]);
    expect(await usage(world.client)).toEqual(
      [
        ['tester', 3],
        ['guest', 3],
      ].sort(),
    );
    const { payload: rates } = await call(world.guest, 'fabric.calls.rates', {});
    expect(rates.windows).toMatchObject([{ agents: [{ agent_id: 'coder', calls: 1 }] }]);
  });

  it('waits for calls that are made later', async () => {
    await using world = await open();
    const { payload: first } = await call(world.client, 'fabric.calls.list', {});
    const args = { after: first.cursor, wait_ms: 20_000 };
    const waiting = call(world.client, 'fabric.calls.list', args);
    await call(world.client, 'fabric.call', { agent_id: 'coder', capability: 'work', task: 'x' });
    const { payload } = await waiting;
    expect(payload.calls).toMatchObject([{ agent_id: 'coder' }]);
  });

  it('keeps serving, and says so in its health, when the journal fails', async () => {
    const journal = await openJournal({ kind: 'memory' }, { calls: 1_000, gateway: 'here' });
    await journal.close();
    await using gateway = await openTestGateway(AGENTS, { journal });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'coder',
      capability: 'work',
      task: '',
    });
    expect(payload.ok).toBe(true);
    const { payload: health } = await call(client, 'fabric.health', {});
    expect(health.status).toBe('degraded');
    expect(health.engines.journal).toMatchObject({
      status: 'offline',
      reason: 'journal_unavailable',
    });
  });

  it('erases what is kept of a principal, for operators alone', async () => {
    await using world = await open({ jobs: createMemoryJobEngine() });
    const args = { agent_id: 'coder', capability: 'work', task: 'x' };
    await call(world.guest, 'fabric.call', args);
    const { payload: job } = await call(world.guest, 'fabric.call', { ...args, async: true });
    await call(world.guest, 'fabric.job.stream', { job_id: job.job_id });
    await call(world.client, 'fabric.call', args);
    await expect(call(world.guest, 'fabric.erase', { principal: 'guest' })).rejects.toThrow();
    const { payload } = await call(world.client, 'fabric.erase', { principal: 'guest' });
    expect(payload).toMatchObject({ ok: true, jobs: 1, open_jobs: 0, sessions: 0 });
    expect(payload.calls).toBeGreaterThanOrEqual(3);
    expect(payload.kept[0]).toContain('audit');
    const left = new Set((await world.calls()).map(({ principal }) => principal));
    expect([...left]).toEqual(['tester']);
  });

  it('ties the hops of a trace together', async () => {
    await using world = await open();
    const { trace_id, span_id } = createTrace();
    const meta = {
      traceparent: `00-${trace_id.replaceAll('-', '')}-${span_id.replaceAll('-', '').slice(0, 16)}-01`,
    };
    await call(
      world.client,
      'fabric.call',
      { agent_id: 'coder', capability: 'work', task: '' },
      { meta },
    );
    await world.journal.flushed();
    const [hop] = await world.journal.get(trace_id);
    expect(hop?.parent_span_id?.slice(0, 8)).toBe(span_id.slice(0, 8));
  });
});
