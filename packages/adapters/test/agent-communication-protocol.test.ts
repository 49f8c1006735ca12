import { silentLog } from '@starloom/core';
import { adapterContract, exampleManifest } from '@starloom/core/testing';
import { describe } from 'vitest';
import { createAgentCommunicationProtocolAdapter } from '../src/agent-communication-protocol/adapter.ts';
import { contractRunAgent } from './fixtures/run-contract-agent.ts';
import { startRunServer } from './fixtures/run-server.ts';

describe('[G21][G24] an agent that speaks the Agent Communication Protocol', () => {
  for (const mode of ['stream', 'async']) {
    adapterContract(
      `agent-communication-protocol, ${mode} runs`,
      async () => {
        const server = await startRunServer({ work: contractRunAgent() });
        const endpoint = {
          transport: 'http' as const,
          protocol: 'agent-communication-protocol',
          uri: server.uri,
          options: { mode, poll_ms: 20 },
        };
        const manifest = exampleManifest({ endpoint });
        return {
          adapter: createAgentCommunicationProtocolAdapter({ manifest, log: silentLog }),
          stopAgent: () => server.stop(),
          close: () => server.stop(),
        };
      },
      { asks: true, waits: true },
    );
  }
});
