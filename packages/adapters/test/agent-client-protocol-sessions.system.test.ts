import { existsSync, readFileSync } from 'node:fs';
import {
  type Adapter,
  type AgentHandle,
  type CallContext,
  type EnvelopeInput,
  FabricError,
  ResultFold,
  silentLog,
} from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { eventually } from './fixtures/agent-world.ts';
import { EditorWorld, editorAgent } from './fixtures/editor-world.ts';
import { isRunning } from './fixtures/stdio-launcher.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

describe('conversations with an editor agent', () => {
  it('go on in the same session, and other calls get their own', async () => {
    const { adapter } = open();
    const first = await converse(adapter, 'echo one');
    const second = await converse(adapter, 'history', first.handle);
    expect(second.answer).toBe('echo one,history');
    expect((await converse(adapter, 'history')).answer).toBe('history');
  });

  it('run one prompt at a time', async () => {
    const { adapter } = open();
    const { handle } = await converse(adapter, 'echo one');
    const answers = await Promise.all(
      ['echo two', 'echo three', 'history'].map((task) => converse(adapter, task, handle)),
    );
    expect(answers.map(({ answer }) => answer)).toEqual([
      'two',
      'three',
      'echo one,echo two,echo three,history',
    ]);
  });

  it('do not wait for a call that was given up in the queue', async () => {
    const { adapter } = open();
    const { handle } = await converse(adapter, 'echo one');
    const hanging = adapter.call(exampleEnvelope('hang'), {
      ...CONTEXT,
      ...(handle && { handle }),
    });
    const iterator = hanging[Symbol.asyncIterator]();
    await iterator.next();
    const control = new AbortController();
    const queued = converse(adapter, 'echo two', handle, { signal: control.signal });
    control.abort(new FabricError('CANCELLED', 'Never mind'));
    expect(await queued.catch((error: unknown) => error)).toMatchObject({
      code: 'CANCELLED',
      details: { sent: false },
    });
    const next = converse(adapter, 'echo three', handle);
    await iterator.return?.();
    expect((await next).answer).toBe('three');
  });

  it.each(['resume', 'load'])(
    'are taken up by session/%s after the process crashed, without its replay',
    async (keeps) => {
      const { adapter, world } = open({ KEEPS: keeps });
      const { handle } = await converse(adapter, 'echo one');
      await crash(world);
      const { answer, handle: next, tokens } = await converse(adapter, 'history', handle);
      expect(answer).toBe('taken up,history');
      expect(tokens).toBe('');
      expect(await log(world)).toContain('take up');
      expect((await converse(adapter, 'history', next)).answer).toBe('taken up,history,history');
      expect((await converse(adapter, 'history', handle)).answer).toContain('taken up');
    },
  );

  it('are taken up by another gateway where the agent keeps its sessions', async () => {
    const { adapter, world, agent } = open({ KEEPS: 'resume' });
    const { handle } = await converse(adapter, 'echo one');
    const other = world.opened(agent);
    expect((await converse(other, 'history', moved(handle))).answer).toBe('taken up,history');
  });

  it.each([
    ['the process crashed', 'interrupted', (handle?: AgentHandle) => handle],
    ['another gateway holds it', 'other_gateway', moved],
  ])('are AGENT_OFFLINE where the agent keeps none and %s', async (_, reason, change) => {
    const { adapter, world } = open();
    const { handle } = await converse(adapter, 'echo one');
    await crash(world);
    const outcome = converse(adapter, 'history', change(handle));
    await expect(outcome).rejects.toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason, sent: false },
    });
    expect((await converse(adapter, 'echo back')).answer).toBe('back');
  });

  it('are BAD_INPUT when the agent has forgotten them', async () => {
    const { adapter } = open({ KEEPS: 'resume' });
    const { handle } = await converse(adapter, 'echo one');
    const unknown = converse(adapter, 'history', { ...handle, session_id: 'never-was' });
    await expect(unknown).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'unknown_conversation', sent: false },
    });
  });

  it('are closed at the agent when nothing leads to them any more', async () => {
    const { adapter, world } = open();
    for await (const _ of adapter.call(exampleEnvelope('echo one'), CONTEXT)) {
      // A caller that keeps no conversation.
    }
    await expect.poll(() => log(world), eventually).toContain('close ');
  });

  it('are closed when too many are idle, oldest first', async () => {
    const { adapter, world } = open({}, { sessions: 2 });
    const first = await converse(adapter, 'echo one');
    await converse(adapter, 'echo two');
    await converse(adapter, 'echo three');
    const { session_id } = first.handle as { session_id: string };
    await expect.poll(() => log(world), eventually).toBe(`close ${session_id}\n`);
  });
});

describe('processes of an editor agent', () => {
  it('are shared by all calls, as many as the manifest says', async () => {
    const { adapter, world } = open({}, { processes: 2 });
    const calls = ['a', 'b', 'c', 'd'].map((word) => converse(adapter, `echo ${word}`));
    const answers = await Promise.all(calls);
    expect(answers.map(({ answer }) => answer)).toEqual(['a', 'b', 'c', 'd']);
    const { handle } = await converse(adapter, 'echo one');
    expect((await converse(adapter, 'history', handle)).answer).toBe('echo one,history');
    expect(pids(world).length).toBeLessThanOrEqual(2);
  });

  it('end when they are idle and no conversation is lost, and the next call starts another', async () => {
    const { adapter, world } = open({ KEEPS: 'resume' }, { idle_ms: 50 });
    const { handle } = await converse(adapter, 'echo one');
    await expect.poll(() => world.running(), eventually).toEqual([]);
    expect((await converse(adapter, 'history', handle)).answer).toBe('taken up,history');
    expect(pids(world)).toHaveLength(2);
  });

  it('stay while they hold a conversation that the agent does not keep', async () => {
    const { adapter, world } = open({}, { idle_ms: 0 });
    const { handle } = await converse(adapter, 'echo one');
    await converse(adapter, 'echo two');
    expect((await converse(adapter, 'history', handle)).answer).toBe('echo one,history');
    expect(pids(world)).toHaveLength(1);
  });
});

describe('how an editor agent is set up', () => {
  it('logs in as the manifest says', async () => {
    const denied = converse(open({ NEEDS_LOGIN: '1' }).adapter, 'echo in');
    await expect(denied).rejects.toMatchObject({
      code: 'AUTH_DENIED',
      details: { sent: false, auth_methods: ['key'] },
    });
    const { adapter } = open({ NEEDS_LOGIN: '1' }, { auth_method: 'key' });
    expect((await converse(adapter, 'echo in')).answer).toBe('in');
    const wrong = converse(open({}, { auth_method: 'other' }).adapter, 'echo in');
    await expect(wrong).rejects.toMatchObject({ code: 'AUTH_DENIED', details: { sent: false } });
  });

  it('sets mode and options of each session', async () => {
    const config = { model: 'small', fast: true };
    const { adapter, world } = open({}, { mode: 'plan', config });
    await converse(adapter, 'echo one');
    expect(await log(world)).toBe('mode plan\nconfig model small\nconfig fast true\n');
  });

  it('gets task, context and attachments as content blocks', async () => {
    const { adapter } = open();
    const input: EnvelopeInput['input'] = {
      task: 'blocks',
      context: { file: 'a.ts' },
      attachments: [
        { media_type: 'text/plain', name: 'a.txt', text: 'A' },
        { media_type: 'application/pdf', data: 'QQ==' },
        { media_type: 'text/html', uri: 'https://example.com/' },
      ],
    };
    const { data } = await converse(adapter, '', undefined, {}, { input });
    expect(data).toEqual({
      blocks: [
        { type: 'text', text: 'blocks' },
        {
          type: 'resource',
          resource: {
            uri: 'starloom:context',
            mimeType: 'application/json',
            text: '{"file":"a.ts"}',
          },
        },
        {
          type: 'resource',
          resource: { uri: 'attachment:a.txt', mimeType: 'text/plain', text: 'A' },
        },
        {
          type: 'resource',
          resource: { uri: 'attachment:attachment-2', mimeType: 'application/pdf', blob: 'QQ==' },
        },
        {
          type: 'resource_link',
          uri: 'https://example.com/',
          name: 'attachment-3',
          mimeType: 'text/html',
        },
      ],
    });
  });

  it('refuses a picture that the agent cannot take as one, before anything is sent', async () => {
    const world = EditorWorld.open();
    const adapter = world.opened({
      command: '/bin/sh',
      args: [
        '-c',
        'read -r _; echo \'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\'; cat',
      ],
    });
    const attachments = [{ media_type: 'image/png', data: 'QQ==' }];
    const calls = adapter.call(exampleEnvelope('', { input: { task: 'x', attachments } }), CONTEXT);
    await expect(Array.fromAsync(calls)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'attachments_unsupported', sent: false },
    });
  });

  it('is described by what it says of itself when its manifest names no capabilities', async () => {
    const world = EditorWorld.open();
    const adapter = world.opened(editorAgent(), { capabilities: undefined });
    expect(await adapter.describe(CONTEXT)).toMatchObject({
      version: '4.5.6',
      description: 'contract',
      capabilities: [{ name: 'prompt', streaming: true, timeout_ms: 600_000 }],
    });
    const target = { agent_id: 'subject', capability: 'prompt' };
    const input = { arguments: { prompt: 'echo by argument' } };
    const { answer } = await converse(adapter, '', undefined, {}, { target, input });
    expect(answer).toBe('by argument');
  });

  it('is not started to be described when its manifest says what it serves', async () => {
    const { adapter, world } = open();
    expect((await adapter.describe(CONTEXT)).capabilities).toHaveLength(1);
    expect(pids(world)).toEqual([]);
  });
});

function open(env: Record<string, string> = {}, options: Record<string, unknown> = {}) {
  const world = EditorWorld.open();
  const files = {
    PID_FILE: world.file('pids'),
    LOG_FILE: world.file('log'),
    SESSION_FILE: world.file('sessions'),
  };
  const agent = { ...editorAgent({ ...files, ...env }), options };
  return { world, agent, adapter: world.opened(agent) };
}

async function converse(
  adapter: Adapter,
  task: string,
  handle?: AgentHandle,
  more: Partial<CallContext> = {},
  change: Partial<EnvelopeInput> = {},
) {
  let kept: AgentHandle | undefined;
  let tokens = '';
  const fold = new ResultFold();
  const keep = (next: AgentHandle) => {
    kept = JSON.parse(JSON.stringify(next));
  };
  const context = { ...CONTEXT, keep, ...(handle && { handle }), ...more };
  for await (const body of adapter.call(exampleEnvelope(task, change), context)) {
    if (body.type === 'token') tokens += body.data.text;
    fold.add(body);
  }
  const result = fold.result();
  return { answer: result?.answer, data: result?.data, handle: kept, tokens };
}

/** As a gateway elsewhere sees the handle. */
function moved(handle?: AgentHandle): AgentHandle {
  return { ...handle, process: 'elsewhere', gateway: 'elsewhere' };
}

/** Until this process has noticed. */
async function crash(world: EditorWorld): Promise<void> {
  const killed = world.running();
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  await expect.poll(() => killed.filter(isRunning), eventually).toEqual([]);
}

function pids(world: EditorWorld): number[] {
  if (!existsSync(world.file('pids'))) return [];
  return readFileSync(world.file('pids'), 'utf8').trim().split('\n').map(Number);
}

async function log(world: EditorWorld): Promise<string> {
  return existsSync(world.file('log')) ? readFileSync(world.file('log'), 'utf8') : '';
}
