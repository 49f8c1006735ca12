import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Adapter, FabricError, silentLog } from '@starloom/core';
import { adapterContract, exampleEnvelope, exampleManifest } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLocalProcessAdapter } from '../src/local-process/adapter.ts';
import {
  type AgentOptions,
  AgentWorld,
  abortWhen,
  contractAgent,
  eventually,
  runCall,
} from './fixtures/agent-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const FINAL = `echo '{"type":"final","data":{"answer":"done"}}'`;
const TOKEN = `echo '{"type":"token","data":{"text":"a"}}'`;

describe('[G21][G25] one process per call', () => {
  adapterContract('local-process', async () => {
    const world = new AgentWorld();
    const command = world.linkNode();
    const env = { CANCELLED_FILE: world.file('cancelled') };
    return {
      adapter: world.adapter({ ...contractAgent(env), command }),
      stopAgent: async () => rmSync(command),
      close: () => world.close(),
    };
  });

  it('takes events with stamps, extra fields, nulls and blank lines, and passes over the unknown', async () => {
    const lines = [
      '{"type":"status","seq":1,"at":"now","trace":null,"agent_id":"x","data":{"state":"started"}}',
      '',
      '{"type":"status","data":{"state":"dancing"}}',
      '{"type":"heartbeat"}',
      '{"level":30,"msg":"a log line that lost its way"}',
      '{"type":"token","span_id":"somebody-else","data":{"text":"lost"}}',
      '{"type":"progress","data":{"percent":null,"message":"soon","extra":1}}',
      '{"type":"final","data":{"answer":"done","citations":null,"data":{"n":1},"mood":"fine"}}',
    ];
    const { events } = await runCall(script(print(lines)));
    expect(events).toEqual([
      { type: 'status', data: { state: 'started' } },
      { type: 'progress', data: { message: 'soon' } },
      { type: 'final', data: { answer: 'done', data: { n: 1 } } },
    ]);
  });

  it('keeps the first of two answers, whatever follows it', async () => {
    const twice = print([
      '{"type":"final","data":{"answer":"first"}}',
      '{"type":"final","data":{"answer":"second"}}',
      'and garbage',
    ]);
    const { answer, events } = await runCall(script(twice));
    expect(answer).toBe('first');
    expect(events).toHaveLength(1);
  });

  it('takes the answer of a program that does not read its input', async () => {
    expect((await runCall(script(`exec <&-; ${FINAL}`), 'x'.repeat(500_000))).answer).toBe('done');
  });

  it('lets the program finish what it does after its answer', async () => {
    const world = AgentWorld.open();
    const file = world.file('saved');
    const agent = world.script(`${FINAL}; cat > /dev/null; echo saved > ${file}`);
    expect((await runCall(agent)).answer).toBe('done');
    await expect.poll(() => existsSync(file), eventually).toBe(true);
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('gives the program what the manifest says and none of our own secrets', async () => {
    process.env.GATEWAY_KEY = 'our-own-secret';
    onTestFinished(() => {
      delete process.env.GATEWAY_KEY;
    });
    const agent = script(
      `printf '{"type":"final","data":{"answer":"%s|%s"}}\\n' "$GIVEN" "$GATEWAY_KEY"`,
      {
        env: { GIVEN: 'yes' },
      },
    );
    expect((await runCall(agent)).answer).toBe('yes|');
  });

  it('reads no more of the program than the consumer takes', async () => {
    const world = AgentWorld.open();
    const line = JSON.stringify({ type: 'token', data: { text: 'x'.repeat(1_000) } });
    const agent = world.script(`echo $$ > ${world.file('pid')}; exec yes '${line}'`);
    const calls = agent.call(exampleEnvelope('flood'), CONTEXT)[Symbol.asyncIterator]();
    expect((await calls.next()).value).toMatchObject({ type: 'token' });
    const pid = Number(readFileSync(world.file('pid'), 'utf8'));
    let before = -1;
    await expect
      .poll(() => {
        const last = before;
        before = bytesWritten(pid);
        return before > 0 && before === last;
      }, eventually)
      .toBe(true);
    expect(before).toBeLessThan(2_000_000);
    await calls.return?.();
  });

  it('ends calls that are open when it is closed', async () => {
    const world = AgentWorld.open();
    const agent = world.script(`${TOKEN}; exec sleep 1000`);
    const outcome = runCall(agent);
    await expect.poll(() => world.running(), eventually).toHaveLength(1);
    await agent.close();
    expect(await outcome).toMatchObject({ error: { code: 'AGENT_OFFLINE', details: NAMES } });
    expect(world.running()).toEqual([]);
    expect((await runCall(agent)).error?.details).toMatchObject({ reason: 'closed', sent: false });
    expect((await agent.health(CONTEXT)).status).toBe('offline');
  });
});

describe('a program that breaks the contract', () => {
  it('is UPSTREAM_ERROR for garbage, which stays out of the error', async () => {
    const { error, events } = await runCall(script(`${TOKEN}; echo 'Traceback: secret'; ${FINAL}`));
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'invalid_json', ...NAMES },
    });
    expect(JSON.stringify([error?.message, error?.details])).not.toContain('Traceback');
  });

  it.each([
    ['a final whose answer is no text', '{"type":"final","data":{"answer":{}}}', 'data.answer'],
    ['a final without data', '{"type":"final"}', 'data'],
    ['a token without text', '{"type":"token","data":{}}', 'data.text'],
    [
      'a tool call without name',
      '{"type":"tool_call","data":{"id":"1","phase":"start"}}',
      'data.name',
    ],
  ])('is UPSTREAM_ERROR for %s, with the field', async (_, line, field) => {
    const { error } = await runCall(script(print([line])));
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_event', field },
    });
  });

  it('is UPSTREAM_ERROR for JSON that nests too deep to be written again', async () => {
    const world = AgentWorld.open();
    const data = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    writeFileSync(world.file('deep'), `{"type":"final","data":{"answer":"","data":${data}}}\n`);
    const { error } = await runCall(world.script(`cat ${world.file('deep')}`));
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason: 'too_deep' } });
  });

  it.each([
    ['an endless line', 'exec cat /dev/zero', 'line_too_long'],
    [
      'bytes that are not UTF-8',
      String.raw`printf '{"type":"\377"}\n'; exec sleep 1000`,
      'invalid_utf8',
    ],
    [
      'a hundred megabytes',
      `yes '{"type":"token","data":{"text":"x"}}' | head -c 104857600`,
      'output_too_large',
    ],
  ])('is UPSTREAM_ERROR for %s, and is gone', async (_, source, reason) => {
    const world = AgentWorld.open();
    const options = { max_line_bytes: 100_000, max_output_bytes: 1_000_000 };
    const { error } = await runCall(world.script(source, { options }));
    expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason, ...NAMES } });
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('is AGENT_OFFLINE when it dies without a word', async () => {
    const { error } = await runCall(script('echo broken >&2; exit 3'));
    expect(error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { upstream: { exit_code: 3, stderr: 'broken' }, ...NAMES },
    });
    expect(error?.details).not.toHaveProperty('sent');
  });

  it('is UPSTREAM_ERROR when it dies in the middle, with the end of stderr but not our secrets', async () => {
    const noise = 'yes noise | head -n 1000 >&2';
    const agent = script(
      `${TOKEN}; ${noise}; printf '\\033[31mkey %s\\033[0m' "$KEY" >&2; kill -9 $$`,
      {
        env: { KEY: 'sk-1234567890' },
      },
    );
    const { error, events } = await runCall(agent);
    expect(events).toHaveLength(1);
    expect(error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: {
        upstream: { signal: 'SIGKILL', stderr: expect.stringMatching(/key \[redacted\]$/) },
      },
    });
    expect(JSON.stringify(error?.details.upstream).length).toBeLessThan(1_300);
    expect(error?.message).not.toContain('noise');
  });

  it('keeps the code of an error it reports, but neither its words nor its claims as ours', async () => {
    const report = {
      code: 'RATE_LIMITED',
      message: 'Slow down \u202Eplease',
      details: { sent: false, agent_id: 'other', retry_after_ms: 250 },
    };
    const { error } = await runCall(
      script(print([JSON.stringify({ type: 'error', error: report })])),
    );
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      details: { ...NAMES, retry_after_ms: 250, upstream: { message: 'Slow down please' } },
    });
    expect(error?.details).not.toHaveProperty('sent');
    expect(error?.message).not.toContain('Slow');
  });

  it.each([
    ['INTERNAL', 'UPSTREAM_ERROR'],
    ['CANCELLED', 'UPSTREAM_ERROR'],
    ['toString', 'UPSTREAM_ERROR'],
    ['RECURSION_LIMIT', 'RECURSION_LIMIT'],
    ['BAD_INPUT', 'BAD_INPUT'],
  ])('reports %s and the caller sees %s', async (code, seen) => {
    const line = JSON.stringify({ type: 'error', error: { code, message: 'no' } });
    expect((await runCall(script(print([line])))).error?.code).toBe(seen);
  });

  it('says that a refusal of credentials came from the agent', async () => {
    const line = JSON.stringify({ type: 'error', error: { code: 'AUTH_DENIED' } });
    const { error } = await runCall(script(print([line])));
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: { upstream: { code: 'AUTH_DENIED' } },
    });
  });
});

describe('a program that does not stop', () => {
  it.each([
    ['never answers', ': > ready; exec sleep 1000'],
    ['ignores the cancel and SIGTERM', `trap '' TERM; : > ready; while :; do sleep 0.1; done`],
    ['streams for ever', `: > ready; exec yes '{"type":"token","data":{"text":"x"}}'`],
    ['starts others', `(trap '' TERM; : > ready; sleep 1000) & sleep 1001 & wait`],
    [
      'leaves a daemon',
      `(setsid sh -c 'trap "" TERM HUP; : > ready; exec sleep 1000' &); exec sleep 1000`,
    ],
    ['reads none of its input', 'exec <&-; : > ready; exec sleep 1000'],
  ])('is gone after the signal when it %s', async (_, source) => {
    const world = AgentWorld.open();
    const agent = world.script(`cd ${world.folder}; ${source}`, { options: { grace_ms: 100 } });
    const ready = expect.poll(() => existsSync(world.file('ready')), eventually).toBe(true);
    expect((await runCall(agent, 'hang', abortWhen(ready))).error?.code).toBe('TIMEOUT');
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('is ended when it closes its output without an answer', async () => {
    const world = AgentWorld.open();
    const agent = world.script(`${TOKEN}; exec >&-; exec sleep 1000`);
    expect((await runCall(agent)).error).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'no_final' },
    });
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('rethrows the reason of the signal as it is, without waiting for the program', async () => {
    const world = AgentWorld.open();
    const source = `trap '' TERM; ${TOKEN}; while :; do sleep 0.1; done`;
    const agent = world.script(source, { options: { grace_ms: 400 } });
    const reason = new FabricError('CANCELLED', 'Never mind');
    const control = new AbortController();
    const calls = agent.call(exampleEnvelope('hang'), { ...CONTEXT, signal: control.signal });
    const events = calls[Symbol.asyncIterator]();
    await events.next();
    const next = events.next();
    control.abort(reason);
    await expect(next).rejects.toBe(reason);
    expect(world.running()).not.toEqual([]);
  });
});

describe('what the manifest says', () => {
  it.each([
    ['a path', '/bin/sh', {}, 'online'],
    ['a name on the path', 'sh', {}, 'online'],
    ['a path from its folder', './sh', { cwd: '/bin' }, 'online'],
    ['a name that is nowhere', 'no-such-program-here', {}, 'offline'],
    ['a file that may not be executed', '/etc/passwd', {}, 'offline'],
    ['a folder', '/etc', {}, 'offline'],
    ['a program in a folder that is not there', '/bin/sh', { cwd: '/no/such/folder' }, 'offline'],
  ])(
    'makes a program online or offline by its command: %s',
    async (_, command, options, status) => {
      const world = AgentWorld.open();
      const agent = world.adapter({ command, options, args: ['-c', FINAL] });
      expect((await agent.health(CONTEXT)).status).toBe(status);
      const { answer, error } = await runCall(agent);
      if (status === 'online') expect(answer).toBe('done');
      else
        expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { sent: false, ...NAMES } });
      await agent.close();
    },
  );

  it('is refused when an option is unknown or wrong', () => {
    const endpoint = {
      transport: 'process' as const,
      command: 'sh',
      options: { poled: true, grace_ms: -1 },
    };
    expect(() =>
      createLocalProcessAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog }),
    ).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({
          agent_id: 'subject',
          problems: expect.arrayContaining([expect.stringContaining('options.grace_ms')]),
        }),
      }),
    );
  });

  it('is what the agent is described by', async () => {
    const agent = script(FINAL);
    expect(await agent.describe(CONTEXT)).toMatchObject({
      version: '0.0.0',
      capabilities: [{ name: 'work' }],
    });
  });
});

const NAMES = { agent_id: 'subject', capability: 'work' };

function script(source: string, agent: AgentOptions = {}): Adapter {
  return AgentWorld.open().script(source, agent);
}

function print(lines: readonly string[]): string {
  return `cat <<'END'\n${lines.join('\n')}\nEND`;
}

function bytesWritten(pid: number): number {
  const [, bytes = '0'] = /^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
  return Number(bytes);
}
