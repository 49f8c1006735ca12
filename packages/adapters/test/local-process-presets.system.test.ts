import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import {
  type AgentHandle,
  type CallContext,
  type EnvelopeInput,
  type EventBody,
  ResultFold,
  silentLog,
} from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AgentWorld, eventually, runCall } from './fixtures/agent-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

/** One answer with a tool, as each of them wrote it to a model server of ours, shortened. */
const RECORDED = {
  claude: [
    { type: 'system', subtype: 'init', session_id: 's-1' },
    delta('Let me '),
    delta('hidden', 'toolu_0'),
    {
      type: 'assistant',
      message: {
        content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }],
      },
    },
    {
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }] },
    },
    delta('see.'),
    { type: 'result', subtype: 'success', is_error: false, result: 'see.', session_id: 's-1' },
  ],
  codex: [
    { type: 'thread.started', thread_id: 's-1' },
    { type: 'item.completed', item: { id: 'i0', type: 'error', message: 'a warning' } },
    { type: 'item.completed', item: { id: 'i1', type: 'agent_message', text: 'Let me ' } },
    { type: 'item.started', item: { id: 't1', type: 'command_execution', command: 'ls' } },
    {
      type: 'item.completed',
      item: {
        id: 't1',
        type: 'command_execution',
        command: 'ls',
        aggregated_output: 'a.txt',
        exit_code: 0,
        status: 'completed',
      },
    },
    { type: 'item.completed', item: { id: 'i2', type: 'agent_message', text: 'see.' } },
    { type: 'turn.completed', usage: {} },
  ],
  gemini: [
    { type: 'init', session_id: 's-1' },
    { type: 'message', role: 'user', content: 'the prompt' },
    { type: 'message', role: 'assistant', content: 'Let me ', delta: true },
    { type: 'tool_use', tool_name: 'Bash', tool_id: 't1', parameters: { command: 'ls' } },
    { type: 'tool_result', tool_id: 't1', status: 'success', output: 'a.txt' },
    { type: 'message', role: 'assistant', content: 'see.', delta: true },
    { type: 'result', status: 'success', stats: {} },
  ],
  opencode: [
    { type: 'step_start', sessionID: 's-1', part: {} },
    { type: 'text', sessionID: 's-1', part: { text: 'Let me ' } },
    {
      type: 'tool_use',
      sessionID: 's-1',
      part: {
        tool: 'Bash',
        callID: 't1',
        state: { status: 'completed', input: { command: 'ls' }, output: 'a.txt' },
      },
    },
    { type: 'text', sessionID: 's-1', part: { text: 'see.' } },
    { type: 'step_finish', sessionID: 's-1', part: { reason: 'stop' } },
  ],
} as const;

type Name = keyof typeof RECORDED;
const NAMES = Object.keys(RECORDED) as Name[];

describe('[G25] command lines that are known by name', () => {
  it.each(NAMES)('%s: its lines become events and an answer', async (name) => {
    const { result, events } = await call(program(name, RECORDED[name]), 'the prompt');
    const text = events.flatMap((event) => (event.type === 'token' ? event.data.text : []));
    expect(text).toEqual(['Let me ', 'see.']);
    expect(result?.answer).toMatch(/see\.$/);
    expect(result?.tool_calls).toMatchObject([
      { id: 't1', args: { command: 'ls' }, result: 'a.txt' },
    ]);
    expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
  });

  it.each(NAMES)('%s: the prompt is its input, never an argument', async (name) => {
    const subject = program(name, RECORDED[name], { args: ['--model', 'small'] });
    const task = '--dangerous $(touch made) `touch made`\n; rm -rf /';
    await call(subject, task, { context: { file: 'a.ts' } });
    const { stdin, args } = subject.got();
    expect(stdin).toBe(`${task}\n\nContext, as JSON:\n{"file":"a.ts"}`);
    expect(args).toContain('--model\nsmall');
    expect(args).not.toContain('dangerous');
    expect(existsSync(subject.world.file('made'))).toBe(false);
  });

  it.each([
    ['claude', '--resume\ns-1'],
    ['codex', 'exec\nresume\n--json\n--skip-git-repo-check\ns-1\n-'],
    ['opencode', '--session\ns-1'],
  ] as const)('%s: goes on with a conversation', async (name, args) => {
    const subject = program(name, RECORDED[name]);
    const { handle } = await call(subject, 'first');
    expect(handle).toEqual({ session_id: 's-1' });
    await call(subject, 'second', {}, { handle: handle as AgentHandle });
    expect(subject.got().args).toContain(args);
  });

  it('keeps no session whose name could be read as an option', async () => {
    const lines = [{ type: 'system', session_id: '--dangerously-skip-permissions' }, ...done('x')];
    const subject = program('claude', lines);
    expect((await call(subject, 'work')).handle).toBeUndefined();
    const handle = { session_id: '-x' };
    const { error } = await call(subject, 'work', {}, { handle });
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
  });

  it.each<[Name, object, string, string]>([
    ['claude', { type: 'result', is_error: true, result: 'no' }, 'UPSTREAM_ERROR', 'agent_failed'],
    [
      'claude',
      { type: 'result', is_error: true, result: 'no', api_error_status: 401 },
      'AUTH_DENIED',
      'agent_failed',
    ],
    [
      'claude',
      { type: 'result', subtype: 'error_max_turns', is_error: true },
      'UPSTREAM_ERROR',
      'tool_error',
    ],
    ['codex', { type: 'turn.failed', error: { message: 'no' } }, 'UPSTREAM_ERROR', 'agent_failed'],
    [
      'gemini',
      { type: 'result', status: 'error', error: { message: 'no' } },
      'UPSTREAM_ERROR',
      'agent_failed',
    ],
    [
      'opencode',
      { type: 'error', error: { name: 'APIError', data: { message: 'no', statusCode: 429 } } },
      'RATE_LIMITED',
      'agent_failed',
    ],
  ])('%s: fails as %o says', async (name, line, code, reason) => {
    const { error } = await call(program(name, [line]), 'work');
    expect(error).toMatchObject({ code, details: { reason, agent_id: 'subject' } });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it.each(NAMES)('%s: is UPSTREAM_ERROR when it ends without an answer', async (name) => {
    const { error } = await call(program(name, [], { after: 'echo why >&2; exit 4' }), 'work');
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'no_final', upstream: { exit_code: 4, stderr: 'why' } },
    });
  });

  it('passes over what is no JSON, and refuses what is too much', async () => {
    const noisy = program('gemini', RECORDED.gemini, { before: 'echo Warning: 256 colors' });
    expect((await call(noisy, 'work')).result?.answer).toBe('Let me see.');
    const options = { max_output_bytes: 100_000, max_line_bytes: 50_000 };
    const flood = program('gemini', [], { after: 'exec cat /dev/zero', options });
    expect((await call(flood, 'work')).error?.details).toMatchObject({ reason: 'line_too_long' });
    await expect.poll(() => flood.world.running(), eventually).toEqual([]);
  });

  it('refuses attachments and empty prompts before it starts anything', async () => {
    const subject = program('claude', RECORDED.claude);
    const attachments = [{ media_type: 'text/plain', text: 'x' }];
    for (const [task, input] of [
      ['work', { attachments }],
      ['', {}],
    ] as const) {
      const { error } = await call(subject, task, input);
      expect(error).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
    }
    expect(existsSync(subject.world.file('args'))).toBe(false);
  });

  it('is AGENT_OFFLINE when the program is not there, and is not pooled', async () => {
    const world = AgentWorld.open();
    const options = { preset: 'claude' };
    const missing = world.adapter({ command: world.file('none'), options });
    expect((await runCall(missing)).error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { sent: false },
    });
    expect((await missing.health(CONTEXT)).status).toBe('offline');
    const pooled = () => world.adapter({ options: { ...options, pooled: true } });
    expect(pooled).toThrow('cannot be pooled');
  });

  it('ends with the adapter', async () => {
    const subject = program('claude', [delta('working')], { after: 'exec sleep 1000' });
    const outcome = call(subject, 'work');
    await expect.poll(() => subject.world.running().length, eventually).toBeGreaterThan(0);
    await subject.adapter.close();
    expect((await outcome).error).toMatchObject({ code: 'AGENT_OFFLINE' });
    expect(subject.world.running()).toEqual([]);
  });

  it('carries trace, depth and chain in its environment', async () => {
    const subject = program('claude', done('x'), { before: 'env > "$0.env"' });
    await call(subject, 'work');
    const env = readFileSync(subject.world.file('program.env'), 'utf8');
    expect(env).toMatch(/^TRACEPARENT=00-[0-9a-f]{32}-[0-9a-f]{16}-01$/m);
    expect(env).toMatch(/^OPENSTARRY_DEPTH=1$/m);
    expect(env).toMatch(/^OPENSTARRY_CHAIN=subject\/work$/m);
  });
});

interface Script {
  readonly args?: readonly string[];
  readonly before?: string;
  readonly after?: string;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A program that keeps what it got and writes `lines`. */
function program(preset: Name, lines: readonly object[], script: Script = {}) {
  const { args = [], before = '', after = '', options = {} } = script;
  const world = AgentWorld.open();
  const path = world.file('program');
  writeFileSync(world.file('lines'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const folder = world.folder;
  writeFileSync(
    path,
    `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/args\ncat > ${folder}/stdin\n${before}\ncat ${folder}/lines\n${after}\n`,
  );
  chmodSync(path, 0o755);
  const adapter = world.adapter({ command: path, args, options: { preset, ...options } });
  onTestFinished(() => adapter.close());
  const got = () => ({
    args: readFileSync(world.file('args'), 'utf8').trim(),
    stdin: readFileSync(world.file('stdin'), 'utf8'),
  });
  return { world, adapter, got };
}

async function call(
  { adapter }: ReturnType<typeof program>,
  task: string,
  input: Omit<EnvelopeInput['input'], 'task'> = {},
  more: Partial<CallContext> = {},
) {
  let handle: AgentHandle | undefined;
  const events: EventBody[] = [];
  const fold = new ResultFold();
  const keep = (kept: AgentHandle) => {
    handle = kept;
  };
  const envelope = exampleEnvelope(task, { input: { task, ...input } });
  try {
    for await (const body of adapter.call(envelope, { ...CONTEXT, keep, ...more })) {
      events.push(body);
      fold.add(body);
    }
  } catch (thrown) {
    return { events, handle, error: thrown as { code: string; details: object } };
  }
  return { events, handle, result: fold.result() };
}

function delta(text: string, parent: string | null = null) {
  const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
  return { type: 'stream_event', event, parent_tool_use_id: parent };
}

function done(result: string) {
  return [{ type: 'result', subtype: 'success', is_error: false, result }];
}
