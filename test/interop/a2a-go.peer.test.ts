import { fileURLToPath } from 'node:url';
import { describeWithPeer, prepareGo, runProgram } from '@starloom/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../a2a/agent.ts';
import { serveAgent } from '../support/a2a-peers.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';

const prepare = () => prepareGo(fileURLToPath(new URL('clients/go-a2a/', import.meta.url)));

describeWithPeer('the Go client of A2A', prepare, (command) => {
  const stack = new AsyncDisposableStack();
  let gateway: RunningGateway;

  beforeAll(async () => {
    const agent = stack.use(await startA2aAgent('speaks-mcp'));
    const config = { a2a: { grpc: { port: 0 } } };
    gateway = stack.use(await startGateway({ agents: [agent.manifest], config }));
  });

  afterAll(() => stack.disposeAsync());

  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'])(
    'reads the card with both of its parsers, and streams by %s',
    async (binding) => {
      const url = gateway.url.replace(/\/mcp$/, '/a2a/speaks-mcp');
      const args = [url, gateway.key, binding];
      const { code, stdout, stderr } = await runProgram({ command, args });
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        name: 'speaks-mcp',
        scheme: 'Bearer',
        legacy_scheme: 'Bearer',
        legacy_required: true,
        kinds: ['task', 'status_update', 'artifact_update', 'status_update'],
        state: 'TASK_STATE_COMPLETED',
      });
    },
  );

  it.each(['JSONRPC', 'HTTP+JSON'])(
    'streams from an agent of the runtime by %s',
    async (binding) => {
      await using agent = await serveAgent();
      const args = [agent.url, agent.key, binding];
      const { code, stdout, stderr } = await runProgram({ command, args });
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        name: 'served',
        scheme: 'Bearer',
        kinds: ['task', 'status_update', 'artifact_update', 'status_update'],
        state: 'TASK_STATE_COMPLETED',
        answer: 'done',
      });
    },
  );
});
