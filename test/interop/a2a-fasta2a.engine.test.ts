import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';
import { describeWithPeer, freePort, preparePython } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askPeers } from '../support/a2a-peers.ts';
import { connect } from '../support/connect.ts';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

for (const version of ['0.3', '1.0']) {
  const prepare = () => preparePython(here(`servers/fasta2a-${version}-requirements.txt`));

  describeWithPeer(`an agent of fasta2a, A2A ${version}`, prepare, (python) => {
    const stack = new AsyncDisposableStack();
    let gateway: RunningGateway;
    let card: string;

    beforeAll(async () => {
      const port = await freePort();
      const agent = await spawnProcess({
        command: python,
        args: [here('servers/fasta2a_agent.py'), String(port), version],
        env: childEnvironment({}),
      });
      stack.defer(async () => {
        await agent.stop();
      });
      const { value } = await agent.lines()[Symbol.asyncIterator]().next();
      expect(value, agent.stderrTail()).toBe('ready');
      card = `http://127.0.0.1:${port}`;
      const manifest: ManifestInput = {
        agent_id: 'fast',
        endpoint: { transport: 'http', protocol: 'a2a', uri: card },
        trust_tier: 'org',
      };
      const config = { telemetry: { log_level: 'warn' } };
      gateway = stack.use(await startGateway({ agents: [manifest], config }));
    });

    afterAll(() => stack.disposeAsync());

    const call = async (task: string) => {
      await using client = await connect(gateway);
      const asked = { agent_id: 'fast', capability: 'message', task };
      return (await client.callTool({ name: 'fabric.call', arguments: asked })).structuredContent;
    };

    it('answers, though its answer is in the history of the task alone', async () => {
      expect(await call('hello')).toMatchObject({ ok: true, result: { answer: 'you said hello' } });
    });

    it('[S6] takes a task of an agent as its peer', async () => {
      const peer = { name: 'fast', card };
      expect(await askPeers([peer, { ...peer, name: 'again' }], 'hello')).toMatchObject([
        { peer: 'fast', status: 'completed', text: 'you said hello' },
        { peer: 'again', status: 'completed', text: 'you said hello' },
      ]);
    });

    it('answers with its own error, which has no words', async () => {
      expect(await call('fail')).toMatchObject({
        ok: false,
        error: { code: 'UPSTREAM_ERROR', details: { reason: 'tool_error', state: 'failed' } },
      });
    });
  });
}
