import { fileURLToPath } from 'node:url';
import { describeWithPeer, preparePython, runProgram } from '@starloom/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../a2a/agent.ts';
import { serveAgent } from '../support/a2a-peers.ts';
import { startGateway } from '../support/start-gateway.ts';

const FOLDER = new URL('clients/python-a2a/', import.meta.url);
const pathOf = (name: string) => fileURLToPath(new URL(name, FOLDER));
const prepare = () => preparePython(pathOf('requirements.txt'));

describeWithPeer('the Python client of A2A', prepare, (python) => {
  const stack = new AsyncDisposableStack();
  let url: string;
  let agentUrl: string;

  beforeAll(async () => {
    agentUrl = stack.use(await serveAgent({ isOpen: true })).url;
    const agent = stack.use(await startA2aAgent('speaks-mcp'));
    const config = { auth: { anonymous: true }, a2a: { grpc: { port: 0 } } };
    const gateway = stack.use(await startGateway({ agents: [agent.manifest], config }));
    url = gateway.url.replace(/\/mcp$/, '/a2a/speaks-mcp');
  });

  afterAll(() => stack.disposeAsync());

  it.each([
    ['the gateway', 'JSONRPC'],
    ['the gateway', 'HTTP+JSON'],
    ['the gateway', 'GRPC'],
    ['an agent of the runtime', 'JSONRPC'],
    ['an agent of the runtime', 'HTTP+JSON'],
  ])('streams from %s, is asked and answers by %s', async (whom, binding) => {
    const served = whom === 'the gateway' ? url : agentUrl;
    const args = [pathOf('client.py'), served, binding];
    const { code, stdout, stderr } = await runProgram({ command: python, args });
    expect(code, stderr).toBe(0);
    const { done, asked, answered } = JSON.parse(stdout);
    expect(done.kinds).toEqual(['task', 'status_update', 'artifact_update', 'status_update']);
    expect(done.state).toBe('TASK_STATE_COMPLETED');
    expect(asked.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(answered).toMatchObject({ task_id: asked.task_id, state: 'TASK_STATE_COMPLETED' });
  });
});
