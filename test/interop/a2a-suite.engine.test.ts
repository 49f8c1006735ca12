import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../a2a/agent.ts';
import { startGateway } from '../support/start-gateway.ts';
import { findSuite, runSuite } from './a2a-suite.ts';

/** Without a key and with one version: the suite has no place for a key, and reads a plain card. */
const config = {
  auth: { anonymous: true },
  a2a: { versions: ['1.0'], grpc: { port: 0 } },
  jobs: { kind: 'sqlite', webhook_hosts: ['localhost', '127.0.0.1'] },
  telemetry: { log_level: 'warn' },
};

describeWithPeer(
  'the official A2A suite, through the gateway to an MCP agent',
  findSuite,
  (python) => {
    const stack = new AsyncDisposableStack();
    let url: string;

    beforeAll(async () => {
      const agent = stack.use(await startA2aAgent());
      const gateway = stack.use(await startGateway({ agents: [agent.manifest], config }));
      url = gateway.url.replace(/\/mcp$/, '/a2a/tck');
    });

    afterAll(() => stack.disposeAsync());

    it.each([
      ['jsonrpc', 88],
      ['http_json', 78],
      ['grpc', 70],
    ] as const)(
      'passes its mandatory level by %s',
      async (binding, least) => {
        const { code, passed, failed, output } = await runSuite(python, url, binding);
        expect(failed, output).toEqual([]);
        expect(code, output).toBe(0);
        expect(passed).toBeGreaterThanOrEqual(least);
      },
      300_000,
    );
  },
);
