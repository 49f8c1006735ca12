import { adapterContract } from '@starloom/core/testing';
import { describe } from 'vitest';
import { ZeroServer } from './fixtures/agent-zero-server.ts';
import { contractZeroAgent, openZeroAdapter } from './fixtures/open-zero.ts';

const TEXT = { tokens: false, data: false, toolCalls: false, progress: false, artifacts: false };

describe('[G21][G23] Agent Zero', () => {
  for (const [lane, takes] of [
    ['mcp', { attachments: false }],
    ['http', { attachments: true }],
    ['a2a', { attachments: false }],
    ['rfc', { attachments: false }],
    ['auto', { attachments: false }],
  ] as const) {
    adapterContract(
      `agent-zero, ${lane}`,
      async () => {
        const server = new ZeroServer(contractZeroAgent());
        const { uri, stop } = await server.start();
        const functions = { work: 'helpers.contract.work' };
        const adapter = openZeroAdapter(uri, { options: { lane, functions } });
        return { adapter, stopAgent: stop, close: stop };
      },
      { ...TEXT, ...takes },
    );
  }
});
