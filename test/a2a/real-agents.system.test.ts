// The whole command, with agents that are programs of their own and know nothing of A2A: one speaks MCP
// over HTTP, one reads and writes lines of JSON.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTrace, type ManifestInput, ROOT_HOP } from '@starloom/core';
import { type Agent, openAgent } from '@starloom/runtime';
import { temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  cancelTask,
  collect,
  connectA2a,
  getTask,
  message,
  send,
  WAYS,
} from '../../packages/gateway/test/a2a/a2a-client.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { startA2aAgent } from './agent.ts';

/** Says the words of its task one by one; "wait" makes it say no more. */
const PROGRAM = `
const { createInterface } = require('node:readline');
const say = (type, data) => console.log(JSON.stringify({ type, data }));
createInterface({ input: process.stdin }).once('line', (line) => {
  const { task } = JSON.parse(line).envelope.input;
  if (task === 'wait') return void setInterval(() => {}, 1000);
  for (const word of task.split(' ')) say('token', { text: word + ' ' });
  say('artifact', { id: 'log', media_type: 'text/plain', text: 'said it' });
  say('final', { answer: task + ' ' });
});
`;

const SCRIPTED = { kind: 'scripted' as const, script: ['x'] };

async function callTool(agent: Agent, name: string, args: object) {
  const { result, error } = await agent.callTool({
    call: { name, args },
    origin: 'user',
    trace: createTrace(),
    hop: ROOT_HOP,
    signal: AbortSignal.timeout(60_000),
  });
  return { text: result.output[0]?.text ?? '', code: error?.code };
}

describe('agents that know nothing of A2A', () => {
  const stack = new AsyncDisposableStack();
  let gateway: RunningGateway;
  const connect = (agent: string, binding: string, version: string) =>
    connectA2a(gateway.url.replace(/\/mcp$/, ''), { agent, binding, version, key: gateway.key });

  beforeAll(async () => {
    const agent = stack.use(await startA2aAgent('speaks-mcp'));
    const folder = stack.use(await temporaryFolder());
    const program = join(folder.path, 'agent.cjs');
    await writeFile(program, PROGRAM);
    const local = {
      agent_id: 'program',
      endpoint: { transport: 'process', command: process.execPath, args: [program] },
      capabilities: [{ name: 'say', streaming: true }],
    } satisfies ManifestInput;
    const config = { a2a: { grpc: { port: 0 } }, telemetry: { log_level: 'warn' } };
    gateway = stack.use(await startGateway({ agents: [agent.manifest, local], config }));
  });

  afterAll(() => stack.disposeAsync());

  it.each(WAYS)('stream tokens and artifacts of a program by %s %s', async (binding, version) => {
    const client = await connect('program', binding, version);
    const items = await collect(client.sendMessageStream(message('one two')));
    const said = items.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact ?? []);
    const texts = said.map(({ artifactId, parts }) => [artifactId, parts[0].text]);
    expect(texts).toEqual(expect.arrayContaining([['log', 'said it']]));
    const { artifacts } = await getTask(client, items[0].task.id);
    expect(artifacts.at(-1).parts).toMatchObject([{ text: 'one two ' }]);
  });

  it('[S6] are peers of an agent that uses the directory of the gateway', async () => {
    const url = gateway.url.replace(/\/mcp$/, '');
    const headers = { authorization: `Bearer ${gateway.key}` };
    const toml = { a2a: { directory: { url, headers, agents: ['*' as const] } } };
    await using agent = await openAgent({
      config: { agent: { name: 'planner', provider: SCRIPTED }, toml, folder: '.' },
      approve: async () => true,
    });
    const listed = await callTool(agent, 'peers:list', {});
    const { peers } = JSON.parse(listed.text) as { peers: { name: string }[] };
    expect(peers.map(({ name }) => name).toSorted()).toEqual(['program', 'speaks-mcp']);
    const delegate = (to: string) => callTool(agent, 'agent:delegate', { to, task: 'one two' });
    expect((await delegate('program')).text).toContain('one two');
    expect((await delegate('nobody')).code).toBeDefined();
  });

  it.each(WAYS)('are cancelled by %s %s', async (binding, version) => {
    const client = await connect('program', binding, version);
    const configuration = { returnImmediately: true };
    const { id } = await send(client, message('wait', { configuration }));
    await expect
      .poll(async () => (await getTask(client, id)).status.state)
      .toBe('TASK_STATE_WORKING');
    expect((await cancelTask(client, id)).status.state).toBe('TASK_STATE_CANCELED');
  });

  it.each(WAYS)(
    'make files, ask, and answer with messages over MCP by %s %s',
    async (binding, version) => {
      const client = await connect('speaks-mcp', binding, version);
      const made = await send(client, message('x', { messageId: 'tck-artifact-file-1' }));
      expect(made.artifacts[0].parts).toMatchObject([
        { raw: btoa('tck'), mediaType: 'text/plain' },
      ]);
      const asked = await send(client, message('x', { messageId: 'tck-input-required-1' }));
      expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
      const done = await send(client, message('yes', { taskId: asked.id }));
      expect(done.artifacts[0].parts).toMatchObject([{ text: 'done: yes' }]);
      const said = await client.sendMessage(message('x', { messageId: 'tck-message-response-1' }));
      expect(said).toMatchObject({ parts: [{ content: { value: 'Direct message response' } }] });
      const failed = await send(client, message('x', { messageId: 'tck-reject-task-1' }));
      expect(failed.status).toMatchObject({ state: 'TASK_STATE_FAILED' });
      expect(failed.status.message.parts[0].text).toContain('rejected');
    },
  );
});
