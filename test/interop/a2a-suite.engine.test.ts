import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startA2aAgent } from '../a2a/agent.ts';
import { startSuiteAgent } from '../a2a/suite-agent.ts';
import { startGateway } from '../support/start-gateway.ts';
import { findSuite, REFUSES_TYPES, runSuite } from './a2a-suite.ts';

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

describeWithPeer('the official A2A suite, at an agent of the runtime', findSuite, (python) => {
  const stack = new AsyncDisposableStack();
  let url: string;

  beforeAll(async () => {
    url = stack.use(await startSuiteAgent()).url;
  });

  afterAll(() => stack.disposeAsync());

  it.each([
    ['jsonrpc', 89],
    ['http_json', 79],
  ] as const)(
    '[S6] passes its mandatory level by %s',
    async (binding, least) => {
      const run = await runSuite(python, url, binding, REFUSES_TYPES);
      expect(run.failed, run.output).toEqual([]);
      expect(run.code, run.output).toBe(0);
      expect(run.passed).toBeGreaterThanOrEqual(least);
    },
    300_000,
  );
});
