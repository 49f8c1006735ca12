import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENTS, type RunningGateway, startGateway } from './running-gateway.ts';

/** An MCP server that asks before it answers. Plain JavaScript, any Node. */
const ASKING_AGENT = `
const { createInterface } = require('node:readline');
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
const asking = new Map();
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, result, params = {} } = JSON.parse(line);
  if (method === 'initialize') {
    const serverInfo = { name: 'asking', version: '1' };
    const { protocolVersion } = params;
    return say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  }
  if (method === 'tools/list') {
    return say({ id, result: { tools: [{ name: 'order', inputSchema: { type: 'object' } }] } });
  }
  if (method === 'tools/call') {
    const question = 'q' + id;
    asking.set(question, id);
    const properties = { colour: { type: 'string' } };
    const requestedSchema = { type: 'object', properties, required: ['colour'] };
    const asked = { message: 'Which colour?', requestedSchema };
    return say({ id: question, method: 'elicitation/create', params: asked });
  }
  if (asking.has(id)) {
    const text = 'ordered in ' + (result.content?.colour ?? result.action);
    return say({ id: asking.get(id), result: { content: [{ type: 'text', text }] } });
  }
  if (id !== undefined) say({ id, error: { code: -32601, message: 'unknown' } });
});
`;

const ASKING = `- agent_id: asking
  endpoint: { transport: stdio, command: node, args: [./asking.cjs] }
  capabilities: [{ name: order }]
  trust_tier: local
`;

describe('commands about jobs', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway({
      'asking.cjs': ASKING_AGENT,
      'agents.yaml': `${AGENTS}${ASKING}`,
    });
  });
  const startAsking = async () => {
    const started = await gateway.run('call', 'asking', 'order', '--async', '--json');
    const { job_id } = JSON.parse(started.stdout);
    const show = async () =>
      JSON.parse((await gateway.run('jobs', 'show', job_id, '--json')).stdout).job;
    await expect.poll(async () => (await show()).state, { timeout: 30_000 }).toBe('awaiting_input');
    return { job_id, show };
  };
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const linesOf = (stdout: string) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('[G4] start a job, follow it to its end, and show its result', async () => {
    const started = await gateway.run('call', 'echo', 'say', 'slow', '--async', '--json');
    const { job_id, state } = JSON.parse(started.stdout);
    expect(state).toBe('queued');
    expect(started.stderr).toContain(`"starloom jobs watch ${job_id}"`);
    const watched = await gateway.run('jobs', 'watch', job_id);
    expect(watched.code).toBe(0);
    const lines = linesOf(watched.stdout);
    const cursors = lines.slice(0, -1).map(({ cursor }) => cursor);
    expect(cursors).toEqual(cursors.map((_, index) => index + 1));
    expect(lines.at(-1)).toMatchObject({ job: { job_id, state: 'succeeded' } });
    const rest = await gateway.run('jobs', 'watch', job_id, '--after', String(cursors.length - 1));
    expect(linesOf(rest.stdout)).toMatchObject([{ type: 'final' }, { job: { job_id } }]);
    const shown = await gateway.run('jobs', 'show', job_id, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      job: { result: { result: { answer: 'slow' } } },
    });
    const listed = await gateway.run('jobs', '--state', 'succeeded');
    expect(listed.stdout).toMatch(new RegExp(`${job_id} +succeeded +echo.say +\\d+ s +100 %`));
  });

  it('[G7] say by their exit code what went wrong', async () => {
    const started = await gateway.run('call', 'echo', 'say', 'fail', '--async', '--json');
    const { job_id } = JSON.parse(started.stdout);
    expect(await gateway.run('jobs', 'watch', job_id)).toMatchObject({ code: 7 });
    expect(await gateway.run('jobs', 'cancel', job_id)).toMatchObject({ code: 2 });
    expect(await gateway.run('jobs', 'show', 'nope')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('fix: list your jobs with "starloom jobs"'),
    });
    const again = await gateway.run('jobs', 'retry', job_id, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ job: { retry_of: job_id, state: 'queued' } });
    expect(await gateway.run('jobs', 'input', job_id, 'q=yes')).toMatchObject({ code: 2 });
  });

  it('[G7] answer what the agent of a job asks', async () => {
    const { job_id, show } = await startAsking();
    const [question] = (await show()).inputs;
    expect(question).toMatchObject({ message: 'Which colour?' });
    const answer = `${question.id}=red`;
    expect(await gateway.run('jobs', 'input', job_id, answer)).toMatchObject({ code: 0 });
    const watched = await gateway.run('jobs', 'watch', job_id);
    expect(watched.code).toBe(0);
    expect(linesOf(watched.stdout).at(-1)).toMatchObject({
      job: { state: 'succeeded', result: { result: { answer: 'ordered in red' } } },
    });
  });

  it('[G7] cancel a job', async () => {
    const { job_id, show } = await startAsking();
    const cancelled = await gateway.run('jobs', 'cancel', job_id, '--json');
    expect(cancelled.code).toBe(0);
    await expect.poll(async () => (await show()).state, { timeout: 30_000 }).toBe('cancelled');
  });

  it('go on after the gateway was killed, and say how to repeat what may not repeat itself', async () => {
    const started = await gateway.run('call', 'echo', 'say', 'slower', '--async', '--json');
    const { job_id } = JSON.parse(started.stdout);
    const watching = gateway.run('jobs', 'watch', job_id);
    const sent = async () => (await gateway.run('jobs', 'show', job_id, '--json')).stdout;
    await expect.poll(sent, { timeout: 30_000 }).toContain('"state":"running"');
    process.kill(gateway.pid, 'SIGKILL');
    gateway = await gateway.restart();
    const watched = await watching;
    expect(watched.code).toBe(7);
    expect(watched.stderr).toMatch(
      /the job failed\n {2}error UPSTREAM_ERROR: .*may not be repeated/,
    );
    expect(watched.stderr).toContain(`"starloom jobs retry ${job_id}"`);
  });

  it('make one call of repetitions with the same key', async () => {
    const asked = ['call', 'echo', 'say', 'good day', '--key', 'k1', '--json'];
    const first = JSON.parse((await gateway.run(...asked)).stdout);
    const second = JSON.parse((await gateway.run(...asked)).stdout);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ ok: true, result: { answer: 'good day' } });
  });
});
