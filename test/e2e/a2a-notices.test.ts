// A gateway before an A2A agent of the official SDK that does not stream: the agent notifies the
// gateway, which reads the task.

import { openAdapter } from '@starloom/adapters';
import { silentLog } from '@starloom/core';
import { ContractAgent } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ContractExecutor } from '../../packages/adapters/test/fixtures/a2a-executor.ts';
import { serveA2a } from '../../packages/adapters/test/fixtures/a2a-server.ts';
import { rpc, toMessage } from '../../packages/gateway/test/a2a/raw.ts';
import { openTestGateway } from '../../packages/gateway/test/test-gateway.ts';

describe('an A2A agent that does not stream, behind the gateway', () => {
  it('notifies the gateway at its webhook, and its answer is read from the task', async () => {
    const registered: string[] = [];
    const noticed = watchNotices();
    const server = await serveA2a(new ContractExecutor(new ContractAgent()), {
      streaming: false,
      push: true,
      middleware: (request, _, next) => {
        request.on('data', (chunk: Buffer) => {
          const [, url] = /"url":"([^"]+)"/.exec(chunk.toString()) ?? [];
          if (url) registered.push(url);
        });
        next();
      },
    });
    const endpoint = { transport: 'http', protocol: 'a2a', uri: server.base } as const;
    const agents = { percy: { manifest: { endpoint }, run: () => expect.fail('not used') } };
    await using gateway = await openTestGateway(agents, {
      openAdapter: (manifest) => openAdapter({ manifest, log: silentLog }),
    });
    const at = `${gateway.url}/a2a/percy`;
    const slow = rpc(at, 'SendMessage', toMessage('slow'));
    await expect.poll(() => registered.length, { timeout: 10_000 }).toBe(1);
    expect(registered[0]?.startsWith(`${gateway.url}/a2a/_push/`)).toBe(true);
    await rpc(at, 'SendMessage', toMessage('release'));
    const { body } = await slow;
    expect(JSON.stringify(body)).toContain('started 1');
    await expect.poll(() => noticed.length).toBeGreaterThan(0);
    // A poll may have been faster than the last of them.
    for (const status of noticed) expect([204, 404]).toContain(status);
    const gone = await fetch(registered[0] ?? '', { method: 'POST', body: '{}' });
    expect(gone.status).toBe(404);
    await server.close();
  });
});

/** Statuses of the notices that the agent sends, by `fetch` of this process. */
function watchNotices(): number[] {
  const statuses: number[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (String(input).includes('/a2a/_push/')) statuses.push(response.status);
    return response;
  };
  onTestFinished(() => {
    globalThis.fetch = fetch;
  });
  return statuses;
}
