import { type CallContext, FabricError, type InputRequest, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMcp } from './fixtures/open-mcp.ts';
import { createLauncher } from './fixtures/stdio-launcher.ts';

/**
 * An older server by hand: every call asks for a name, and answers with what it got. It leaves
 * `prompts/list` open, and the call `beside a list` asks only once both are there. The call `silent`
 * is never answered.
 */
const AGENT = `
import { createInterface } from 'node:readline';
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const ANSWERS = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
  'tools/list': { tools: [{ name: 'work', inputSchema: { type: 'object', properties: { task: { type: 'string' } } } }] },
  ping: {},
};
const asked = new Map();
let declared;
let isListing = false;
let askBeside;
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    const call = asked.get(id);
    if (call === undefined) return;
    const text = call.task + ': ' + (error ? 'error' : result.content?.name ?? result.action);
    write({ id: call.id, result: { content: [{ type: 'text', text }] } });
  } else if (method === 'tools/call') {
    const task = params.arguments.task;
    if (task === 'declared') return write({ id, result: { content: [{ type: 'text', text: JSON.stringify(declared) }] } });
    if (task === 'silent') return;
    asked.set('q-' + id, { id, task });
    const ask = () => write({ id: 'q-' + id, method: 'elicitation/create', params: {
      message: task, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } } });
    if (task === 'beside a list' && !isListing) askBeside = ask;
    else setTimeout(ask, task.startsWith('slow') ? 300 : 0);
  } else if (method === 'prompts/list') {
    isListing = true;
    askBeside?.();
  } else if (id !== undefined) {
    if (method === 'initialize') declared = params.capabilities;
    if (ANSWERS[method]) write({ id, result: ANSWERS[method] });
    else write({ id, error: { code: -32601, message: 'Method not found' } });
  }
});
`;

async function openAgent() {
  const launcher = await createLauncher(AGENT);
  onTestFinished(() => launcher.close());
  return { launcher, adapter: await openMcp(launcher.endpoint) };
}

type Agent = Awaited<ReturnType<typeof openAgent>>['adapter'];

/** A caller that answers with its own name, and remembers what it was asked. */
async function callAs(adapter: Agent, name: string, task: string) {
  const asked: string[] = [];
  const ask: CallContext['ask'] = async (requests: readonly InputRequest[]) => {
    asked.push(...requests.map(({ message }) => message));
    return requests.map(({ id }) => ({ id, action: 'accept', content: { name } }));
  };
  const context = { signal: new AbortController().signal, log: silentLog, ask };
  const events = await Array.fromAsync(adapter.call(envelopeOf(name, task), context));
  const last = events.at(-1);
  return { asked, answer: last?.type === 'final' ? last.data.answer : undefined };
}

/** A call that its caller gives up on, once the agent has it. */
async function leave(adapter: Agent, name: string, task: string) {
  const control = new AbortController();
  const context = { signal: control.signal, log: silentLog };
  const left = Array.fromAsync(adapter.call(envelopeOf(name, task), context));
  setTimeout(() => control.abort(new FabricError('CANCELLED', 'Left')), 50);
  await expect(left).rejects.toMatchObject({ code: 'CANCELLED' });
}

function envelopeOf(name: string, task: string) {
  return exampleEnvelope(task, { auth: { mode: 'none', principal_id: name } });
}

describe('an older agent in a child process that asks', () => {
  it('learns at the handshake that it can ask people and models', async () => {
    const { adapter } = await openAgent();
    const { answer } = await callAs(adapter, 'ada', 'declared');
    expect(JSON.parse(answer ?? '')).toMatchObject({ elicitation: {}, sampling: {} });
  });

  it('asks the caller of the only call', async () => {
    const { adapter } = await openAgent();
    expect(await callAs(adapter, 'ada', 'hello')).toEqual({
      asked: ['hello'],
      answer: 'hello: ada',
    });
  });

  it('asks the caller of the only call while something else than a call runs', async () => {
    const { adapter, launcher } = await openAgent();
    const control = new AbortController();
    const list = adapter.request('prompts/list', undefined, { signal: control.signal });
    const left = expect(list).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await callAs(adapter, 'ada', 'beside a list')).toEqual({
      asked: ['beside a list'],
      answer: 'beside a list: ada',
    });
    control.abort(new FabricError('CANCELLED', 'Left'));
    await left;
    expect(await callAs(adapter, 'bob', 'after a list')).toEqual({
      asked: ['after a list'],
      answer: 'after a list: bob',
    });
    expect(await launcher.pids()).toHaveLength(1);
  });

  it('brings a late question of a call that was left to no other caller', async () => {
    const { adapter } = await openAgent();
    await callAs(adapter, 'ada', 'declared');
    await leave(adapter, 'ada', 'slow and left');
    const { asked } = await callAs(adapter, 'bob', 'slow for bob');
    expect(asked).not.toContain('slow and left');
    expect(await callAs(adapter, 'bob', 'again')).toEqual({
      asked: ['again'],
      answer: 'again: bob',
    });
  });

  it('goes on asking a caller that left a call', async () => {
    const { adapter, launcher } = await openAgent();
    await callAs(adapter, 'ada', 'declared');
    await leave(adapter, 'ada', 'silent');
    for (const task of ['one', 'two']) {
      expect(await callAs(adapter, 'ada', task)).toEqual({ asked: [task], answer: `${task}: ada` });
    }
    expect(await launcher.pids()).toHaveLength(1);
    const { asked } = await callAs(adapter, 'bob', 'for bob');
    expect(asked).toEqual([]);
  });

  it('never asks one caller what belongs to the call of another', async () => {
    const { adapter, launcher } = await openAgent();
    const both = await Promise.all([
      callAs(adapter, 'ada', 'slow for ada'),
      callAs(adapter, 'bob', 'slow for bob'),
    ]);
    expect(both[0].asked).not.toContain('slow for bob');
    expect(both[1].asked).not.toContain('slow for ada');
    expect(both.map(({ answer }) => answer)).toContainEqual(expect.stringMatching(/: cancel$/));
    const names = ['ada', 'bob', 'eve', 'dan'];
    const later = await Promise.all(names.map((name) => callAs(adapter, name, `slow ${name}`)));
    expect(later).toEqual(
      names.map((name) => ({ asked: [`slow ${name}`], answer: `slow ${name}: ${name}` })),
    );
    expect((await launcher.pids()).length).toBeGreaterThan(names.length);
    const control = new AbortController();
    const context = { signal: control.signal, log: silentLog };
    const left = Array.fromAsync(adapter.call(exampleEnvelope('slow and left'), context));
    control.abort(new FabricError('CANCELLED', 'Left'));
    await expect(left).rejects.toMatchObject({ code: 'CANCELLED' });
    const many = Array.from({ length: 20 }, (_, n) => `caller-${n}`);
    const answers = await Promise.all(many.map((name) => callAs(adapter, name, name)));
    expect(answers.map(({ answer }) => answer)).toEqual(many.map((name) => `${name}: ${name}`));
    expect(answers.flatMap(({ asked }) => asked).sort()).toEqual([...many].sort());
  });
});
