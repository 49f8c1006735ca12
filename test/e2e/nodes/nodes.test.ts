// A node in this process with a real WebSocket to a gateway: what callers see of its agents.

import type { CallContext, Envelope, FabricError, Manifest } from '@starloom/core';
import {
  exampleManifest,
  MemoryAdapter,
  type MemoryAgent,
  MemoryRegistry,
} from '@starloom/core/testing';
import { openSqliteJobs } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { answers, call, connect, KEY } from '../../../packages/gateway/test/test-gateway.ts';
import {
  CALLER_KEY,
  NODE_KEY,
  openBalancer,
  openNodeGateway,
  openTestNode,
  RIVAL_KEY,
} from './node-world.ts';

const work = (more: object = {}) => ({
  agent_id: 'worker',
  capability: 'work',
  task: 'go',
  ...more,
});

/** Says one word, then waits for its caller to leave or the gate to open. */
const waiting = (gate: Promise<void> = new Promise(() => {})) => {
  const ended: FabricError[] = [];
  let begun = 0;
  const run: MemoryAgent = async function* (_, signal) {
    begun += 1;
    signal.addEventListener('abort', () => ended.push(signal.reason));
    yield { type: 'token', data: { text: 'begun' } };
    await gate;
    yield { type: 'final', data: { answer: 'done' } };
  };
  return { run, ended, begun: () => begun };
};

describe('[G38] agents that a node serves', () => {
  it('are called, streamed from and listed at the gateway as any other agent', async () => {
    await using gateway = await openNodeGateway();
    let seen: Envelope | undefined;
    await using node = await openTestNode([gateway.url], {
      worker: async function* (envelope) {
        seen = envelope;
        for (const text of ['one ', 'two']) yield { type: 'token', data: { text } };
        yield { type: 'final', data: { answer: 'one two' } };
      },
    });
    await node.connected;
    expect(node.events).toMatchObject([
      { event: 'connected', gateway: gateway.url, agents: ['worker'] },
    ]);
    await using client = await connect(gateway.url);
    const { payload, events } = await call(client, 'fabric.call', work({ stream: true }));
    expect(payload).toMatchObject({
      ok: true,
      result: { answer: 'one two' },
      attempts: [{ agent_id: 'worker', node_id: 'n1', ok: true }],
    });
    expect(events.filter(({ type }) => type === 'token')).toHaveLength(2);
    expect(seen?.trace.trace_id).toBe(payload.trace.trace_id);
    expect(seen).toMatchObject({
      hop: { depth: 1, chain: ['worker/work'] },
      auth: { principal_id: 'tester' },
      target: { deadline_ms: expect.any(Number) },
    });
    const listed = (await call(client, 'fabric.agent.list', {})).payload;
    expect(listed.agents).toMatchObject([
      { agent_id: 'worker', node_id: 'n1', endpoint: { transport: 'node', protocol: 'memory' } },
    ]);
    // How the agent is reached stays with the node.
    expect(JSON.stringify(listed)).not.toContain('127.0.0.1:9');
  });

  it('follow the file of the node, and are gone when it leaves', async () => {
    await using gateway = await openNodeGateway();
    const agents = { worker: answers('w'), walker: answers('x') };
    await using node = await openTestNode([gateway.url], agents);
    await node.connected;
    const ids = () => gateway.registry.list().map(({ manifest }) => manifest.agent_id);
    expect(ids()).toEqual(['walker', 'worker']);
    await node.write([
      { agent_id: 'worker', capabilities: [{ name: 'work', streaming: true }, { name: 'rest' }] },
      { agent_id: 'walker', node_id: 'another-node' },
    ]);
    await expect.poll(ids).toEqual(['worker']);
    const names = () => gateway.registry.get('worker')?.capabilities.map(({ name }) => name);
    await expect.poll(names).toEqual(['work', 'rest']);
    await node.close();
    expect(ids()).toEqual([]);
  });

  it('need no capabilities in the file: the gateway discovers them through the node, and again when they change', async () => {
    await using gateway = await openNodeGateway();
    let offered = ['read'];
    let changed = () => {};
    const describe = async () => ({
      capabilities: offered.map((name) => ({
        name,
        streaming: false,
        reentrant: false,
        modalities: ['text'],
        input_schema: { type: 'object' },
      })),
    });
    const openAdapter = () =>
      Object.assign(new MemoryAdapter({} as Manifest, answers('x'), describe), {
        request: async (method: string) => ({ resources: [{ name: method, uri: 'file:///a' }] }),
        serverCapabilities: async () => ({ resources: {} }),
        onListChanged: (kind: string, listener: () => void) => {
          if (kind === 'tools') changed = listener;
          return () => {};
        },
      });
    await using node = await openTestNode([gateway.url], { worker: answers('') }, { openAdapter });
    const endpoint = { transport: 'http', uri: 'http://127.0.0.1:9/mcp' } as const;
    await node.write([{ agent_id: 'worker', endpoint, capabilities: undefined }]);
    const names = () => gateway.registry.get('worker')?.capabilities.map(({ name }) => name);
    await expect.poll(names).toEqual(['read']);
    offered = ['read', 'write'];
    changed();
    await expect.poll(names).toEqual(['read', 'write']);
    // Resources of an MCP agent are listed through its node, too.
    await using client = await connect(gateway.url);
    await expect
      .poll(async () => (await client.listResources()).resources)
      .toMatchObject([{ name: 'resources/list' }]);
  });

  it('ask their callers, who answer through the gateway', async () => {
    await using gateway = await openNodeGateway();
    await using balancer = await openBalancer(gateway.url);
    const schema = { type: 'object', properties: { name: { type: 'string' } } };
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    const question = { id: 'name', kind: 'form', message: 'Your name?', schema } as const;
    await using node = await openTestNode([balancer.url], {
      worker: async function* (_, __, { ask }) {
        const [response] = (await ask?.([{ ...question, expires_at: hourAgo }])) ?? [];
        yield { type: 'final', data: { answer: JSON.stringify(response?.content) } };
      },
    });
    await node.connected;
    await using client = await connect(gateway.url);
    const first = (await call(client, 'fabric.call', work())).payload.error;
    expect(first).toMatchObject({ code: 'INPUT_REQUIRED', details: { inputs: [{ id: 'name' }] } });
    // The clock of the node does not decide when a question ends.
    expect(Date.parse(first.details.inputs[0].expires_at)).toBeGreaterThan(Date.now());
    const { conversation_id } = first.details;
    const inputs = [{ id: 'name', response: { action: 'accept', content: { name: 'Ada' } } }];
    const { payload } = await call(client, 'fabric.call', {
      capability: 'work',
      conversation_id,
      inputs,
    });
    expect(payload).toMatchObject({ ok: true, result: { answer: '{"name":"Ada"}' } });
    expect(balancer.received()).not.toContain(conversation_id);
  });

  it('are told when their caller leaves', async () => {
    await using gateway = await openNodeGateway();
    const { run, ended, begun } = waiting();
    await using node = await openTestNode([gateway.url], { worker: run });
    await node.connected;
    await using client = await connect(gateway.url);
    const control = new AbortController();
    const left = call(client, 'fabric.call', work(), { signal: control.signal });
    left.catch(() => {});
    await expect.poll(begun).toBe(1);
    control.abort();
    await expect.poll(() => ended).toMatchObject([{ code: 'CANCELLED' }]);
    const slow = (await call(client, 'fabric.call', work({ timeout_ms: 50 }))).payload;
    expect(slow.error.code).toBe('TIMEOUT');
    await expect.poll(() => ended[1]).toMatchObject({ code: 'TIMEOUT' });
  });

  it('never see a key of the gateway, nor calls of agents of another node', async () => {
    await using gateway = await openNodeGateway();
    await using balancer = await openBalancer(gateway.url);
    let context: CallContext | undefined;
    await using node = await openTestNode([balancer.url], {
      worker: async function* (_, __, given) {
        context = given;
        yield { type: 'final', data: { answer: 'mine' } };
      },
    });
    await using other = await openTestNode(
      [gateway.url],
      { rover: answers('not yours') },
      { key: RIVAL_KEY, nodeId: 'n2' },
    );
    await Promise.all([node.connected, other.connected]);
    await using client = await connect(gateway.url, 'auto', {
      authorization: `Bearer ${CALLER_KEY}`,
    });
    await call(client, 'fabric.call', work({ task: 'for the worker' }));
    const rover = work({ agent_id: 'rover', task: 'a secret for rover' });
    expect((await call(client, 'fabric.call', rover)).payload.result.answer).toBe('not yours');
    expect(balancer.received()).toContain('for the worker');
    for (const secret of [KEY, CALLER_KEY, NODE_KEY, RIVAL_KEY, 'a secret for rover']) {
      expect(balancer.received()).not.toContain(secret);
    }
    expect(context?.mandate).toBeUndefined();
  });

  it('finish the calls under way before the node leaves', async () => {
    await using gateway = await openNodeGateway();
    const gate = Promise.withResolvers<void>();
    const { run, begun } = waiting(gate.promise);
    await using node = await openTestNode([gateway.url], { worker: run });
    await node.connected;
    await using client = await connect(gateway.url);
    const running = call(client, 'fabric.call', work());
    await expect.poll(begun).toBe(1);
    const closed = node.close();
    const state = () => gateway.registry.get('worker')?.instances[0]?.state;
    await expect.poll(state).toBe('draining');
    gate.resolve();
    expect((await running).payload).toMatchObject({ ok: true, result: { answer: 'done' } });
    await closed;
    expect(gateway.registry.get('worker')).toBeUndefined();
  });
});

describe('[G38] a node that is cut off', () => {
  it('ends its calls as AGENT_OFFLINE, and they are not sent again', async () => {
    await using gateway = await openNodeGateway();
    await using balancer = await openBalancer(gateway.url);
    const { run, ended, begun } = waiting();
    let stoodIn = 0;
    const agents = {
      worker: run,
      walker: async function* () {
        stoodIn += 1;
        yield { type: 'final' as const, data: { answer: 'stand-in' } };
      },
    };
    await using node = await openTestNode([balancer.url], agents);
    await node.write([
      {
        agent_id: 'worker',
        capabilities: [{ name: 'work', streaming: true, idempotent: false }],
        fallbacks: ['walker'],
      },
      { agent_id: 'walker' },
    ]);
    await expect.poll(() => gateway.registry.get('worker')?.manifest.fallbacks).toEqual(['walker']);
    await using client = await connect(gateway.url);
    const running = call(client, 'fabric.call', work());
    await expect.poll(begun).toBe(1);
    balancer.cut();
    const { payload } = await running;
    expect(payload.error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'link_lost', primary: 'worker@n1: offline' },
    });
    expect(payload.error.details.sent).not.toBe(false);
    expect(stoodIn).toBe(0);
    // The agent stops, too, and the node is back by itself.
    await expect.poll(() => ended).toMatchObject([{ code: 'AGENT_OFFLINE' }]);
    await expect.poll(node.connections).toBe(2);
    const again = (await call(client, 'fabric.call', work({ agent_id: 'walker' }))).payload;
    expect(again).toMatchObject({ ok: true });
  });

  it('is seen on both sides when its connection falls silent', async () => {
    await using gateway = await openNodeGateway({ nodeHeartbeatMs: 200 });
    await using balancer = await openBalancer(gateway.url);
    const { run, begun } = waiting();
    await using node = await openTestNode([balancer.url], { worker: run });
    await node.connected;
    await using client = await connect(gateway.url);
    const running = call(client, 'fabric.call', work());
    await expect.poll(begun).toBe(1);
    balancer.vanish();
    expect((await running).payload.error.code).toBe('AGENT_OFFLINE');
    await expect.poll(node.connections).toBeGreaterThan(1);
    expect(node.events[1]).toMatchObject({ event: 'disconnected', gateway: balancer.url });
  });

  it('stays connected through a balancer that cuts connections at rest', async () => {
    await using gateway = await openNodeGateway({ nodeHeartbeatMs: 500 });
    await using balancer = await openBalancer(gateway.url, { idleMs: 1_500 });
    await using node = await openTestNode([balancer.url], { worker: answers('there') });
    await node.connected;
    // At two heartbeats in a second it would have been cut off by then.
    const before = balancer.messages();
    await expect.poll(balancer.messages).toBeGreaterThan(before + 5);
    await using client = await connect(gateway.url);
    expect((await call(client, 'fabric.call', work())).payload.ok).toBe(true);
    expect([balancer.connections(), node.connections()]).toEqual([1, 1]);
  });

  it('finds its gateway again after a restart, and offers its agents there', async () => {
    const first = await openNodeGateway();
    const { port } = new URL(first.url);
    await using node = await openTestNode([first.url], { worker: answers('there') });
    await node.connected;
    await first[Symbol.asyncDispose]();
    await using second = await openNodeGateway({ config: { listen: { port: Number(port) } } });
    await expect.poll(() => second.registry.get('worker')?.manifest.node_id).toBe('n1');
    await using client = await connect(second.url);
    expect((await call(client, 'fabric.call', work())).payload.ok).toBe(true);
  });

  it('goes on with a job where it was, if its agent has a handle for that', async () => {
    await using folder = await temporaryFolder();
    const jobs = await openSqliteJobs({ path: `${folder.path}/jobs.sqlite` });
    await using gateway = await openNodeGateway({ jobs });
    await using balancer = await openBalancer(gateway.url);
    const gate = Promise.withResolvers<void>();
    const left: unknown[] = [];
    let started = 0;
    let joined = 0;
    await using node = await openTestNode([balancer.url], {
      worker: async function* (_, signal, { handle, keep }) {
        if (handle) joined += 1;
        else started += 1;
        signal.addEventListener('abort', () => left.push(signal.reason.details.reason));
        keep?.({ task: 'task-1' }, { isRunning: true });
        yield { type: 'token', data: { text: 'at it' } };
        await gate.promise;
        yield { type: 'final', data: { answer: `started ${started}, joined ${joined}` } };
      },
    });
    await node.connected;
    await using client = await connect(gateway.url);
    const { job_id } = (await call(client, 'fabric.call', work({ async: true }))).payload;
    await expect.poll(() => started).toBe(1);
    const state = async () => (await call(client, 'fabric.job.status', { job_id })).payload.job;
    balancer.cut();
    await expect.poll(() => joined).toBe(1);
    // The task was left running at the agent.
    expect(left[0]).toBe('claim_lost');
    gate.resolve();
    await expect.poll(async () => (await state()).state).toBe('succeeded');
    const job = await state();
    expect([job.attempt, job.result.result.answer]).toEqual([1, 'started 1, joined 1']);
    await node.close();
    await jobs.close();
  });
});

describe('[G38] a node and several gateways', () => {
  it('is one instance, whichever gateways it is connected to', async () => {
    const registry = new MemoryRegistry();
    await using one = await openNodeGateway({ registry, nodeHeartbeatMs: 300 });
    await using two = await openNodeGateway({ registry, nodeHeartbeatMs: 300 });
    await using node = await openTestNode([one.url, two.url], { worker: answers('there') });
    await expect.poll(node.connections).toBe(2);
    const epochs = new Set<unknown>();
    for (const url of [one.url, two.url]) {
      await using client = await connect(url);
      expect((await call(client, 'fabric.call', work())).payload.ok).toBe(true);
    }
    // They agree on one registration, and renew it together.
    await expect
      .poll(async () => {
        const epoch = registry.get('worker')?.instances[0]?.epoch;
        const isKnown = epochs.has(epoch);
        epochs.add(epoch);
        await new Promise((resolve) => setTimeout(resolve, 250));
        return isKnown && registry.get('worker')?.instances[0]?.epoch === epoch;
      })
      .toBe(true);
    expect(registry.get('worker')?.instances).toHaveLength(1);
    expect(epochs.size).toBeLessThanOrEqual(3);
  });

  it('is waited for by calls at a gateway that just started', async () => {
    const registry = new MemoryRegistry();
    await using gateway = await openNodeGateway({ registry });
    const endpoint = { transport: 'node', protocol: 'memory' } as const;
    const manifest = exampleManifest({ agent_id: 'worker', node_id: 'n1', endpoint });
    const by = { principal: 'worker', isOperator: false };
    await registry.registrar.register(manifest, by, { leaseMs: 60_000 });
    await using client = await connect(gateway.url);
    const answer = call(client, 'fabric.call', work());
    await using node = await openTestNode([gateway.url], { worker: answers('here') });
    await node.connected;
    expect((await answer).payload).toMatchObject({ ok: true, agent_id: 'worker' });
  });

  it('is not chosen by a gateway that it is not connected to, which says so', async () => {
    const registry = new MemoryRegistry();
    await using far = await openNodeGateway({ registry });
    // As another gateway of the realm registered it.
    const endpoint = { transport: 'node', protocol: 'memory' } as const;
    const manifest = exampleManifest({ agent_id: 'worker', node_id: 'n1', endpoint });
    const by = { principal: 'worker', isOperator: false };
    await registry.registrar.register(manifest, by, { leaseMs: 60_000 });
    await using client = await connect(far.url);
    const preview = async () =>
      (await call(client, 'fabric.route.preview', { agent_id: 'worker', capability: 'work' }))
        .payload;
    expect(JSON.stringify(await preview())).toContain('node n1 is not connected to this gateway');
    const { error } = (await call(client, 'fabric.call', work())).payload;
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason: 'no_link' } });
    await using there = await openTestNode([far.url], { worker: answers('n2') }, { nodeId: 'n2' });
    await there.connected;
    for (let n = 0; n < 5; n += 1) {
      const { payload } = await call(client, 'fabric.call', work());
      expect(payload).toMatchObject({ ok: true, attempts: [{ node_id: 'n2' }] });
    }
  });
});
