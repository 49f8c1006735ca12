import { existsSync, readFileSync, rmSync } from 'node:fs';
import { type Adapter, silentLog } from '@starloom/core';
import { adapterContract, exampleEnvelope, ManualClock } from '@starloom/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import {
  AgentWorld,
  abortWhen,
  contractAgent,
  eventually,
  runCall,
} from './fixtures/agent-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const NAMES = { agent_id: 'subject', capability: 'work' };

adapterContract('local-process, pooled', async () => {
  const world = new AgentWorld();
  const command = world.linkNode();
  const adapter = world.adapter({ ...contractAgent(), command, options: { pooled: true } });
  return {
    adapter,
    async stopAgent() {
      rmSync(command);
      for (const pid of world.running()) process.kill(pid, 'SIGKILL');
      await expect
        .poll(async () => (await adapter.health(CONTEXT)).status, eventually)
        .toBe('offline');
    },
    close: () => world.close(),
  };
});

it('starts one process, and keeps it', async () => {
  const world = AgentWorld.open();
  const agent = pooledNode(world);
  await Promise.all(['a', 'b', 'c'].map((word) => runCall(agent, `echo ${word}`)));
  await runCall(agent, 'echo again');
  expect(pidsOf(world)).toHaveLength(1);
  expect(world.running()).toEqual(pidsOf(world));
  expect((await agent.health(CONTEXT)).status).toBe('online');
});

it('ends the calls of a process that dies with AGENT_OFFLINE, and starts another for the next', async () => {
  const world = AgentWorld.open();
  const agent = pooledNode(world);
  await runCall(agent, 'echo served');
  const open = [runCall(agent, 'hang'), runCall(agent, 'hang')];
  const [pid = 0] = pidsOf(world);
  process.kill(pid, 'SIGKILL');
  for (const { error } of await Promise.all(open)) {
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { upstream: { signal: 'SIGKILL' }, ...NAMES },
    });
  }
  expect((await runCall(agent, 'echo back')).answer).toBe('back');
  expect(pidsOf(world)).toHaveLength(2);
});

it('waits longer and longer to start a process that dies before it serves a call', async () => {
  const world = AgentWorld.open();
  const clock = new ManualClock();
  const agent = world.script('read -r _; exit 1', { options: { pooled: true }, clock });
  for (const backoff of [100, 200, 400]) {
    expect((await runCall(agent)).error?.details).toMatchObject({ upstream: { exit_code: 1 } });
    const { error } = await runCall(agent);
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'backing_off', retry_after_ms: backoff, sent: false, ...NAMES },
    });
    expect((await agent.health(CONTEXT)).status).toBe('degraded');
    clock.advance(backoff);
  }
});

it('passes over lines of calls it does not know', async () => {
  const agent = pooledScript(`
    printf '{"type":"final","span_id":"unknown","data":{"answer":"wrong"}}\\n'
    printf '{"type":"note"}\\n'
    answer "$span" right`);
  expect((await runCall(agent)).answer).toBe('right');
});

it('fails at an event that does not say which call it is of', async () => {
  const agent = pooledScript(`echo '{"type":"final","data":{"answer":"whose?"}}'`);
  const { error } = await runCall(agent);
  expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'no_span_id' } });
});

it('fails only the call that says too much', async () => {
  const agent = pooledScript(
    `case $line in *flood*) yes "{\\"type\\":\\"token\\",\\"span_id\\":\\"$span\\",\\"data\\":{\\"text\\":\\"x\\"}}" | head -n 10000;; esac
     answer "$span" done`,
    { max_output_bytes: 10_000 },
  );
  const [flood, calm] = await Promise.all([runCall(agent, 'flood'), runCall(agent, 'calm')]);
  expect(flood.error?.details).toMatchObject({ reason: 'output_too_large', ...NAMES });
  expect(calm.answer).toBe('done');
});

it('stops reading while one call is stuck, and goes on when it leaves', async () => {
  const world = AgentWorld.open();
  const agent = pooledNode(world, { max_output_bytes: 100_000_000 });
  const words = Array.from({ length: 300 }, () => 'x'.repeat(1_000)).join(' ');
  const stuck = agent.call(exampleEnvelope(`stream ${words}`), CONTEXT)[Symbol.asyncIterator]();
  await stuck.next();
  let answer: string | undefined;
  const other = runCall(agent, 'echo through').then((outcome) => {
    answer = outcome.answer;
  });
  await runCall(pooledNode(world), 'echo elsewhere');
  expect(answer).toBeUndefined();
  await stuck.return?.();
  await other;
  expect(answer).toBe('through');
});

it('replaces a process that has closed its input', async () => {
  const world = AgentWorld.open();
  const agent = world.script('exec <&-; : > $READY; exec sleep 1000', {
    options: { pooled: true },
    env: { READY: world.file('ready') },
  });
  const first = runCall(agent);
  await expect.poll(() => existsSync(world.file('ready')), eventually).toBe(true);
  for (const { error } of [await runCall(agent), await first]) {
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: NAMES });
  }
  await expect.poll(() => world.running(), eventually).toEqual([]);
});

it('refuses a second call with the same span, and goes on with the first', async () => {
  const agent = pooledNode(AgentWorld.open());
  const envelope = exampleEnvelope('hang');
  const first = agent.call(envelope, CONTEXT)[Symbol.asyncIterator]();
  await first.next();
  const second = Array.fromAsync(agent.call(envelope, CONTEXT));
  await expect(second).rejects.toMatchObject({ code: 'INTERNAL', details: { sent: false } });
  expect((await runCall(agent, 'cancelled')).answer).toBe('0');
  await first.return?.();
});

it('refuses calls while too much input waits for a process that does not read it', async () => {
  const world = AgentWorld.open();
  const agent = world.script('exec sleep 1000', { options: { pooled: true } });
  const moment = Promise.withResolvers<void>();
  const waiting = runCall(agent, 'x'.repeat(5_000_000), abortWhen(moment.promise));
  await expect.poll(() => world.running(), eventually).toHaveLength(1);
  const { error } = await runCall(agent);
  expect(error).toMatchObject({ code: 'OVERLOADED', details: { sent: false, ...NAMES } });
  moment.resolve();
  expect((await waiting).error?.code).toBe('TIMEOUT');
});

/** Runs `body` for each envelope, with its line in $line and its span id in $span. */
function pooledScript(body: string, options: Record<string, unknown> = {}): Adapter {
  const loop = `
    answer() { printf '{"type":"final","span_id":"%s","data":{"answer":"%s"}}\\n' "$1" "$2"; }
    while read -r line; do
      case $line in '{"envelope"'*) ;; *) continue ;; esac
      span=$(printf %s "$line" | sed 's/.*"span_id":"\\([^"]*\\)".*/\\1/')
      ${body}
    done`;
  return AgentWorld.open().script(loop, { options: { pooled: true, ...options } });
}

function pooledNode(world: AgentWorld, options: Record<string, unknown> = {}): Adapter {
  const agent = contractAgent({ PID_FILE: world.file('pids') });
  const adapter = world.adapter({ ...agent, options: { pooled: true, ...options } });
  onTestFinished(() => adapter.close());
  return adapter;
}

function pidsOf(world: AgentWorld): number[] {
  return readFileSync(world.file('pids'), 'utf8').trim().split('\n').map(Number);
}
