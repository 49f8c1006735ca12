import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { type Adapter, type CallContext, type InputRequest, silentLog } from '@starloom/core';
import { exampleEnvelope, ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { abortWhen, eventually, runCall } from './fixtures/agent-world.ts';
import { EditorWorld, hostileAgent } from './fixtures/editor-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const NAMES = { agent_id: 'subject', capability: 'work' };

describe('an editor agent that breaks its protocol', () => {
  it.each([
    ['garbage lines', 'fine'],
    ['wrong ids', 'right'],
    ['two answers', 'first'],
    ['updates after the end', 'before'],
    ['updates of others', 'mine'],
  ])('is served all the same: %s', async (rule, expected) => {
    const { adapter } = open(rule);
    const { answer, events } = await runCall(adapter);
    expect(answer).toBe(expected);
    expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
    expect((await runCall(adapter)).answer).toBe(expected);
  });

  it.each([
    ['endless garbage', { reason: 'invalid_json' }],
    ['no newline', { reason: 'line_too_long' }],
    ['not UTF-8', { reason: 'invalid_utf8' }],
    ['too deep', { reason: 'too_deep' }],
    ['too much text', { reason: 'output_too_large' }],
    ['no stop reason', { reason: 'bad_answer' }],
    ['unknown stop reason', { reason: 'tool_error', upstream: { stop_reason: 'bored' } }],
    ['result and error', { reason: 'rpc_error' }],
    ['internal error', { reason: 'rpc_error', upstream: { code: -32_603, message: 'boom' } }],
    ['own error', { reason: 'tool_error', upstream: { message: 'no such file' } }],
    ['refusal', { reason: 'tool_error', upstream: { stop_reason: 'refusal' } }],
    ['max tokens', { reason: 'tool_error', upstream: { text: 'cut off' } }],
  ])('is UPSTREAM_ERROR in time: %s', async (rule, details) => {
    const options = { max_line_bytes: 2_000_000, max_output_bytes: 1_000_000 };
    const { adapter } = open(rule, { options });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { ...details, ...NAMES } });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it('is ended when it asks without end, and its call fails after the open question', async () => {
    const { adapter, world } = open('flood of requests');
    const ask: CallContext['ask'] = async (requests) => {
      await expect.poll(() => world.running(), eventually).toEqual([]);
      return requests.map(({ id }) => ({ id, action: 'cancel' }));
    };
    const calls = Array.fromAsync(adapter.call(exampleEnvelope('work'), { ...CONTEXT, ask }));
    const outcome = await calls.catch((error: unknown) => error);
    expect(outcome).toMatchObject({ details: { reason: 'too_many_requests', ...NAMES } });
  });

  it('is AGENT_OFFLINE when it closes its output and stays, and is ended', async () => {
    const { adapter, world } = open('closes its output and stays');
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: NAMES });
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('is AGENT_OFFLINE when it crashes in the middle, with its last words', async () => {
    const { adapter } = open('crash in the middle');
    const { error, events } = await runCall(adapter);
    expect(events).toEqual([{ type: 'token', data: { text: 'half of the ' } }]);
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { upstream: { exit_code: 7, stderr: 'out of memory' }, ...NAMES },
    });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it.each([
    ['never answers initialize', 'AGENT_OFFLINE', 'start_timeout'],
    ['dies at once', 'AGENT_OFFLINE', 'process_ended'],
    ['another version', 'UPSTREAM_ERROR', 'protocol_version'],
    ['wrong initialize', 'UPSTREAM_ERROR', 'bad_answer'],
    ['wants a login', 'AUTH_DENIED', 'agent_denied'],
    ['no session id', 'UPSTREAM_ERROR', 'bad_answer'],
  ])('is refused before anything is sent: %s', async (rule, code, reason) => {
    const { adapter, world } = open(rule, { options: { start_timeout_ms: 1_500 } });
    const { error } = await runCall(adapter);
    expect(error).toMatchObject({ code, details: { reason, sent: false, ...NAMES } });
    if (code === 'AGENT_OFFLINE') {
      await expect.poll(() => world.running(), eventually).toEqual([]);
    }
  });

  it('is not started again at once when it dies before it served a call', async () => {
    const clock = new ManualClock();
    const { adapter } = open('dies at once', { clock });
    await runCall(adapter);
    expect((await runCall(adapter)).error?.details).toMatchObject({
      reason: 'backing_off',
      sent: false,
    });
    expect((await adapter.health(CONTEXT)).status).toBe('degraded');
    clock.advance(100);
    expect((await runCall(adapter)).error?.details).toMatchObject({ reason: 'process_ended' });
  });

  it('gives up a call that waits for a session, and nothing was sent', async () => {
    const { adapter, world } = open('never opens a session');
    const moment = Promise.withResolvers<void>();
    const outcome = runCall(adapter, 'work', abortWhen(moment.promise));
    await expect.poll(() => world.running(), eventually).toHaveLength(1);
    moment.resolve();
    expect((await outcome).error).toMatchObject({ code: 'TIMEOUT', details: { sent: false } });
  });

  it('is killed when it does not end a cancelled turn, and replaced for the next call', async () => {
    const { adapter, world } = open('never ends', { options: { grace_ms: 200 } });
    for (const _ of [1, 2]) {
      for await (const { type } of adapter.call(exampleEnvelope('work'), CONTEXT)) {
        if (type === 'token') break;
      }
      await expect.poll(() => world.running(), eventually).toEqual([]);
    }
    expect(pidsOf(world)).toHaveLength(2);
  });

  it('keeps serving other calls until they end, before it is killed', async () => {
    const { adapter, world } = open('never ends', { options: { grace_ms: 100 } });
    const other = adapter.call(exampleEnvelope('work'), CONTEXT)[Symbol.asyncIterator]();
    await other.next();
    const left = adapter.call(exampleEnvelope('work'), CONTEXT)[Symbol.asyncIterator]();
    await left.next();
    await left.return?.();
    const third = adapter.call(exampleEnvelope('work'), CONTEXT)[Symbol.asyncIterator]();
    await expect.poll(async () => pidsOf(world).length, eventually).toBeGreaterThan(0);
    await third.next();
    await third.return?.();
    await other.return?.();
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });
});

describe('what an editor agent may ask of the gateway', () => {
  it('is refused files when the manifest names no root', async () => {
    const { adapter } = open('asks for files', { env: { TARGET: '/etc/hostname' } });
    expect(await repliedTo(adapter)).toMatchObject({ error: { data: { reason: 'no_root' } } });
  });

  it('is served files below the root, and no others', async () => {
    const world = EditorWorld.open();
    mkdirSync(world.file('root'));
    writeFileSync(world.file('root/a.txt'), 'one\ntwo\n');
    writeFileSync(world.file('secret.txt'), 'secret');
    symlinkSync(world.file('secret.txt'), world.file('root/link.txt'));
    symlinkSync(world.folder, world.file('root/up'));
    const read = (target: string) => {
      const env = { TARGET: target };
      const options = { root: world.file('root') };
      return repliedTo(world.opened({ ...hostileAgent('asks for files', env), options }));
    };
    expect(await read(world.file('root/a.txt'))).toEqual({ result: { content: 'one\ntwo\n' } });
    for (const target of [
      world.file('secret.txt'),
      world.file('root/link.txt'),
      world.file('root/up/secret.txt'),
      world.file('root/../secret.txt'),
      '/etc/passwd',
      '/proc/self/environ',
    ]) {
      const reply = await read(target);
      expect(reply, target).toMatchObject({ error: { code: -32_602 } });
      expect(JSON.stringify(reply)).not.toContain('secret"');
    }
    const missing = await read(world.file('root/none.txt'));
    expect(missing).toMatchObject({ error: { code: -32_002 } });
  });

  it.each([
    [{ line: 2, limit: 1 }, 'two\n'],
    [{ line: 3 }, 'three\nfour'],
    [{ limit: 2 }, 'one\ntwo\n'],
    [{ line: 9 }, ''],
  ])('is served the lines %j of a file', async (range, content) => {
    const world = EditorWorld.open();
    writeFileSync(world.file('a.txt'), 'one\ntwo\nthree\nfour');
    const env = { TARGET: world.file('a.txt'), RANGE: JSON.stringify(range) };
    const options = { root: world.folder };
    const adapter = world.opened({ ...hostileAgent('asks for files', env), options });
    expect(await repliedTo(adapter)).toEqual({ result: { content } });
  });

  it('gets output and exit of the programs it runs, and only their last part', async () => {
    const { replies } = await inTerminal({
      SCRIPT: 'echo one; echo two >&2; pwd; exit 3',
      STEPS: 'wait_for_exit,output,release,output',
    });
    expect(replies).toMatchObject([
      { terminalId: expect.any(String) },
      { exitCode: 3, signal: null },
      { output: expect.stringMatching(/^one\ntwo\n\/.+\n$/), truncated: false },
      {},
      { code: -32_002 },
    ]);
    const { replies: cut } = await inTerminal({
      SCRIPT: 'printf 0123456789',
      LIMIT: '4',
      STEPS: 'wait_for_exit,output',
    });
    expect(cut[2]).toMatchObject({ output: '6789', truncated: true, exitStatus: { exitCode: 0 } });
  });

  it('ends a program that it does not want to wait for', async () => {
    const steps = { SCRIPT: 'exec sleep 1000', STEPS: 'kill,wait_for_exit,output' };
    const { replies } = await inTerminal(steps);
    expect(replies.slice(1, 3)).toMatchObject([{}, { signal: 'SIGTERM' }]);
  });

  it.each([
    ['write', undefined],
    ['read', 'read_only'],
  ])('may write below the root when files is %s', async (files, reason) => {
    const world = EditorWorld.open();
    const env = { TARGET: world.file('new.txt') };
    const agent = hostileAgent('writes files', env);
    const reply = await repliedTo(
      world.opened({ ...agent, options: { root: world.folder, files } }),
    );
    if (reason) expect(reply).toMatchObject({ error: { data: { reason } } });
    else expect(readFileSync(world.file('new.txt'), 'utf8')).toBe('written');
  });

  it.each([
    ['not allowed', {}, { error: { data: { reason: 'terminal_denied' } } }],
    ['allowed', { terminal: true }, { result: { terminalId: expect.any(String) } }],
  ])('runs programs only where that is %s, and none outlives it', async (_, more, expected) => {
    const world = EditorWorld.open();
    const env = { SCRIPT: 'exec sleep 1000' };
    const agent = hostileAgent('runs programs', env);
    const adapter = world.opened({ ...agent, options: { root: world.folder, ...more } });
    expect(await repliedTo(adapter)).toMatchObject(expected);
    await adapter.close();
    expect(world.running()).toEqual([]);
  });

  it('gets nothing for a session that is not its own, and a bad request is refused', async () => {
    expect(await repliedTo(open('asks elsewhere').adapter)).toMatchObject({
      error: { code: -32_002 },
    });
    expect(await repliedTo(open('asks badly').adapter)).toMatchObject({ error: { code: -32_602 } });
  });

  it.each([
    ['allow', 'once'],
    ['deny', 'no'],
  ])('is answered by the policy %s', async (permissions, optionId) => {
    const { adapter } = open('asks for permission', { options: { permissions } });
    expect(await repliedTo(adapter)).toEqual({
      result: { outcome: { outcome: 'selected', optionId } },
    });
  });

  it('asks the caller for permission with the choices of the agent, cleaned', async () => {
    const asked: InputRequest[] = [];
    const ask: CallContext['ask'] = async (requests) => {
      asked.push(...requests);
      return requests.map(({ id }) => ({ id, action: 'accept', content: { choice: 'never' } }));
    };
    const { adapter } = open('asks for permission');
    const reply = await repliedTo(adapter, { ask });
    expect(reply).toMatchObject({ result: { outcome: { optionId: 'never' } } });
    expect(asked).toMatchObject([
      {
        kind: 'choice',
        message: 'The agent asks for permission: Removes all files',
        options: [
          { id: 'always', label: 'Always', kind: 'allow_always' },
          { id: 'once', label: 'Once', kind: 'allow_once' },
          { id: 'never', label: 'Never', kind: 'reject_always' },
          { id: 'no', label: 'No', kind: 'reject_once' },
        ],
      },
    ]);
  });

  it.each([
    ['declines', { action: 'decline' as const }, { outcome: 'selected', optionId: 'no' }],
    ['cancels', { action: 'cancel' as const }, { outcome: 'cancelled' }],
    [
      'chooses what was not offered',
      { action: 'accept' as const, content: { choice: 'root' } },
      { outcome: 'cancelled' },
    ],
  ])('gets no permission when the caller %s', async (_, response, outcome) => {
    const ask: CallContext['ask'] = async ([request]) => [{ id: request?.id ?? '', ...response }];
    const { adapter } = open('asks for permission');
    expect(await repliedTo(adapter, { ask })).toEqual({ result: { outcome } });
  });

  it('gets no permission when no caller can be asked', async () => {
    expect(await repliedTo(open('asks for permission').adapter)).toEqual({
      result: { outcome: { outcome: 'cancelled' } },
    });
  });
});

function open(rule: string, more: Parameters<EditorWorld['opened']>[0] = {}) {
  const world = EditorWorld.open();
  const { env = {}, ...others } = more;
  const agent = hostileAgent(rule, { ...env, PID_FILE: world.file('pids') });
  return { world, adapter: world.opened({ ...agent, ...others }) };
}

/** What the agent got for its one request: it answers with that. */
async function repliedTo(adapter: Adapter, more: Partial<CallContext> = {}): Promise<unknown> {
  let answer = '';
  for await (const body of adapter.call(exampleEnvelope('work'), { ...CONTEXT, ...more })) {
    if (body.type === 'final') answer = body.data.answer;
  }
  const { jsonrpc, ...reply } = JSON.parse(answer);
  expect(jsonrpc).toBe('2.0');
  return reply;
}

async function inTerminal(env: Record<string, string>): Promise<{ replies: unknown[] }> {
  const world = EditorWorld.open();
  const options = { root: world.folder, terminal: true };
  const adapter = world.opened({ ...hostileAgent('uses a terminal', env), options });
  return (await repliedTo(adapter)) as { replies: unknown[] };
}

function pidsOf(world: EditorWorld): number[] {
  return readFileSync(world.file('pids'), 'utf8').trim().split('\n').map(Number);
}
