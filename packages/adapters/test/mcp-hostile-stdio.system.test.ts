import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMcp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';
import { createLauncher, isRunning } from './fixtures/stdio-launcher.ts';

/** An older server by hand. `on` gets each request; what it does not handle is answered properly. */
const AGENT = `
import { createInterface } from 'node:readline';
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const text = (id, text) => write({ id, result: { content: [{ type: 'text', text }] } });
const ANSWERS = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
  'tools/list': { tools: [{ name: 'work', inputSchema: { type: 'object', properties: { task: { type: 'string' } } } }] },
  ping: {},
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const task = params?.arguments?.task;
  if (on({ id, method, params, task }) !== false || id === undefined) return;
  if (method === 'tools/call') text(id, task);
  else if (ANSWERS[method]) write({ id, result: ANSWERS[method] });
  else write({ id, error: { code: -32601, message: 'Method not found' } });
});
`;

async function openAgent(on: string, options: Record<string, unknown> = {}) {
  const launcher = await createLauncher(
    `${AGENT}\nfunction on({ id, method, params, task }) {\n${on}\nreturn false;\n}`,
  );
  onTestFinished(() => launcher.close());
  return { launcher, adapter: await openMcp({ ...launcher.endpoint, options }) };
}

describe('an mcp agent in a child process that misbehaves', () => {
  it('fails the calls it dies on, and is started again for the next', async () => {
    const { adapter, launcher } = await openAgent(
      `if (task === 'die') { process.stderr.write('disk is full\\n'); process.exit(3); }`,
    );
    expect((await runCall(adapter, 'one')).result?.answer).toBe('one');
    const error = await failedCall(adapter, 'die');
    expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason: 'process_ended' } });
    expect(error.details.upstream).toEqual({ exit_code: 3, stderr: 'disk is full' });
    expect(error.details.sent).toBeUndefined();
    expect((await runCall(adapter, 'two')).result?.answer).toBe('two');
    expect(await launcher.pids()).toHaveLength(2);
  });

  it('says why it does not start: exit code and stderr, in calls and in its health', async () => {
    const launcher = await createLauncher(`
      process.stderr.write('Error: Cannot find module "left-pad"\\n');
      process.exit(7);
    `);
    onTestFinished(() => launcher.close());
    const adapter = await openMcp(launcher.endpoint);
    const upstream = { exit_code: 7, stderr: 'Error: Cannot find module "left-pad"' };
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'process_ended', upstream, sent: false },
    });
    const context = { signal: new AbortController().signal, log: silentLog };
    await expect
      .poll(() => adapter.health(context))
      .toMatchObject({ status: 'offline', upstream, fix: expect.any(String) });
  });

  it('is starting, not offline, while its first connection is being made', async () => {
    const { adapter } = await openAgent(`if (method !== 'tools/call') return;`);
    const control = new AbortController();
    const health = adapter.health({ signal: control.signal, log: silentLog });
    control.abort(new FabricError('TIMEOUT', 'Not yet'));
    expect(await health).toMatchObject({ status: 'starting' });
  });

  it('says while it starts since when, and what it has written so far', async () => {
    const launcher = await createLauncher(`
      process.stderr.write('warming up\\n');
      process.stdout.write('Listening on \\u001b[1mport 3000\\n');
      setInterval(() => {}, 60_000);
    `);
    onTestFinished(() => launcher.close());
    const adapter = await openMcp(launcher.endpoint);
    const check = () => {
      const control = new AbortController();
      const health = adapter.health({ signal: control.signal, log: silentLog });
      control.abort(new FabricError('TIMEOUT', 'Not yet'));
      return health;
    };
    expect(await check()).toMatchObject({ status: 'starting' });
    await expect.poll(check).toMatchObject({
      status: 'starting',
      message: expect.stringMatching(/^Started at 20\d\d-\S+Z, it has not answered in MCP so far$/),
      upstream: { stderr: 'warming up', stdout: 'Listening on port 3000' },
      fix: expect.stringContaining('MCP server'),
    });
  });

  it('shows what it wrote to stdout when it ends before its first answer', async () => {
    const launcher = await createLauncher(`console.log('usage: serve [--port N]');`);
    onTestFinished(() => launcher.close());
    const adapter = await openMcp(launcher.endpoint);
    const { details } = await failedCall(adapter, 'hello');
    expect(details.upstream).toEqual({ exit_code: 0, stdout: 'usage: serve [--port N]' });
  });

  it('is believed once when it answers twice, and not when it answers a request that was never made', async () => {
    const { adapter } = await openAgent(`
      if (method !== 'tools/call') return false;
      text(id + 1000, 'crossed');
      text(id, 'first ' + task);
      text(id, 'second ' + task);
      return;
    `);
    const answers = await Promise.all(['a', 'b', 'c'].map((task) => runCall(adapter, task)));
    expect(answers.map(({ result }) => result?.answer)).toEqual(['first a', 'first b', 'first c']);
  });

  it.each([
    ['a result that is no object', `{ id, result: 'text' }`],
    ['neither result nor error', `{ id }`],
    ['an error without a code', `{ id, error: 'no' }`],
  ])('fails a call at once that it answers with %s', async (_, answer) => {
    const { adapter } = await openAgent(`
      if (method !== 'tools/call' || task !== 'bad') return false;
      write(${answer});
      return;
    `);
    expect(await failedCall(adapter, 'bad')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'not_json_rpc' },
    });
    expect((await runCall(adapter, 'good')).result?.answer).toBe('good');
  });

  it.each([
    ['first', `{ jsonrpc: '2.0', id, result: { many } }`],
    ['last', `{ result: { many }, jsonrpc: '2.0', id }`],
  ])('fails a call at once that it answers with too many values, its id %s', async (_, answer) => {
    const { adapter } = await openAgent(`
      if (method !== 'tools/call' || task !== 'bad') return false;
      const many = Array(1_000_000).fill(0);
      process.stdout.write(JSON.stringify(${answer}) + '\\n');
      return;
    `);
    expect(await failedCall(adapter, 'bad')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'too_many_values' },
    });
    expect((await runCall(adapter, 'good')).result?.answer).toBe('good');
  });

  it('may say other things on stdout, within reason', async () => {
    const { adapter } = await openAgent(`
      console.log('Received ' + method);
      if (task === 'flood') for (let i = 0; i < 5000; i += 1) console.log('x'.repeat(1000));
    `);
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
    expect(await failedCall(adapter, 'flood')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'not_json' },
    });
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
  });

  it('is ended when a line grows beyond the limit, and started again', async () => {
    const { adapter, launcher } = await openAgent(
      `
      const more = () => {
        while (process.stdout.write('x'.repeat(65536)));
        process.stdout.once('drain', more);
      };
      if (task === 'huge') return more();
      `,
      { result_bytes: 1_048_576 },
    );
    expect(await failedCall(adapter, 'huge')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'line_too_long' },
    });
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
    const [first = 0] = await launcher.pids();
    await expect.poll(() => isRunning(first)).toBe(false);
  });

  it('harms no other call when it hangs on one, and receives the cancellation of that one', async () => {
    const { adapter } = await openAgent(`
      if (task === 'hang') return;
      if (method === 'notifications/cancelled') globalThis.cancelled = params.requestId;
      if (task === 'cancelled?') return text(id, String(globalThis.cancelled));
    `);
    const control = new AbortController();
    const hanging = failedCall(adapter, 'hang', { signal: control.signal });
    expect((await runCall(adapter, 'fine')).result?.answer).toBe('fine');
    control.abort(new FabricError('TIMEOUT', 'Too slow'));
    expect((await hanging).code).toBe('TIMEOUT');
    expect(Number((await runCall(adapter, 'cancelled?')).result?.answer)).toBeGreaterThan(0);
  });

  it('is held back while the caller does not read, and nothing it wrote is lost', async () => {
    const { adapter, launcher } = await openAgent(`
      if (method !== 'tools/call') return false;
      let progress = 0;
      const filler = 'x'.repeat(10000);
      const tell = () => {
        while (progress < 400) {
          progress += 1;
          appendFileSync(import.meta.dirname + '/told', '.');
          const { progressToken } = params._meta;
          const told = { progressToken, progress, message: progress + filler };
          if (!write({ method: 'notifications/progress', params: told })) {
            return void process.stdout.once('drain', tell);
          }
        }
        text(id, 'done');
      };
      return tell();
    `);
    const context = { signal: new AbortController().signal, log: silentLog };
    const events = adapter.call(exampleEnvelope('hello'), context)[Symbol.asyncIterator]();
    const messages = [await events.next()];
    const told = async () => (await stat(join(launcher.folder, 'told'))).size;
    let before = -1;
    const isStill = async () => {
      const last = before;
      before = await told();
      return before === last;
    };
    await expect.poll(isStill, { interval: 100 }).toBe(true);
    expect(await told()).toBeLessThan(300);
    for (let next = await events.next(); !next.done; next = await events.next())
      messages.push(next);
    const numbers = messages.flatMap(({ value }) =>
      value?.type === 'progress' ? Number.parseInt(value.data.message ?? '', 10) : [],
    );
    expect(numbers).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
    expect(messages.at(-1)?.value).toMatchObject({ type: 'final', data: { answer: 'done' } });
  });

  it('is spoken to in the older way when it dies of the newer', async () => {
    const { adapter, launcher } = await openAgent(
      `if (method === 'server/discover') process.exit(1);`,
    );
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    await launcher.kill();
    await expect.poll(() => runCall(adapter, 'again').catch(() => undefined)).toBeDefined();
    expect(await launcher.pids()).toHaveLength(3);
  });

  it('is spoken to in the older way when it does not answer the newer', async () => {
    const { adapter } = await openAgent(`if (method === 'server/discover') return;`, {
      connect_timeout_ms: 1_500,
    });
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
  });

  it('is not started again and again when it cannot start', async () => {
    const { adapter, launcher } = await openAgent('process.exit(1);');
    const failures = [];
    for (let index = 0; index < 20; index += 1) failures.push(await failedCall(adapter, 'hello'));
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['AGENT_OFFLINE']));
    expect(failures.every(({ details }) => details.sent === false)).toBe(true);
    expect(failures.at(-1)?.details).toMatchObject({ reason: 'backoff' });
    expect((await launcher.pids()).length).toBeLessThan(15);
  });

  it('is gone when the adapter is closed, whatever it was doing', async () => {
    const { adapter, launcher } = await openAgent(`
      if (task === 'hang') return void setInterval(() => {}, 1000);
    `);
    const hanging = failedCall(adapter, 'hang');
    await runCall(adapter, 'fine');
    await adapter.close();
    expect(await hanging).toMatchObject({ code: 'AGENT_OFFLINE', details: { reason: 'closed' } });
    for (const pid of await launcher.pids()) expect(isRunning(pid)).toBe(false);
    const after = await failedCall(adapter, 'after');
    expect(after).toMatchObject({ code: 'AGENT_OFFLINE', details: { sent: false } });
  });

  it('is offline when there is no such program', async () => {
    const adapter = await openMcp({ transport: 'stdio', command: 'no-such-program-anywhere' });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'not_found', sent: false },
    });
    const context = { signal: new AbortController().signal, log: silentLog };
    expect(await adapter.health(context)).toMatchObject({
      status: 'offline',
      message: expect.stringContaining('"no-such-program-anywhere"'),
    });
  });
});
