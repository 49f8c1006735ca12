// Agents behind a node pass the contract that every adapter passes: the adapter of the protocol runs at the
// node, and the gateway sees it through the link.

import {
  type Adapter,
  type CallContext,
  type Capability,
  FabricError,
  type ManifestInput,
  MemoryRegistry,
  silentLog,
} from '@starloom/core';
import {
  adapterContract,
  ContractAgent,
  exampleEnvelope,
  exampleManifest,
  MemoryAdapter,
  type MemoryAgent,
} from '@starloom/core/testing';
import { AdapterPool } from '@starloom/gateway';
import { type LinkChannel, NodeLink } from '@starloom/wire/node-link';
import { describe, expect, it } from 'vitest';
import { createA2aAdapter } from '../../../packages/adapters/src/a2a/adapter.ts';
import { createMcpAdapter } from '../../../packages/adapters/src/mcp/adapter.ts';
import { ContractExecutor } from '../../../packages/adapters/test/fixtures/a2a-executor.ts';
import { serveA2a } from '../../../packages/adapters/test/fixtures/a2a-server.ts';
import { contractServer } from '../../../packages/adapters/test/fixtures/mcp-contract-server.ts';
import { serveModern } from '../../../packages/adapters/test/fixtures/mcp-http-server.ts';
import { openNodeAdapter } from '../../../packages/gateway/src/nodes/node-adapter.ts';
import { NodeLinks } from '../../../packages/gateway/src/nodes/node-links.ts';
import { AgentServer } from '../../../packages/starloom/src/node/agent-server.ts';
import { channelPair } from '../../../packages/wire/test/fixtures/channel-pair.ts';

/** The agent of `endpoint` behind a node, without the network between node and gateway. */
function behindNode(
  endpoint: ManifestInput['endpoint'],
  open: () => Adapter | Promise<Adapter>,
  stopAgent: () => Promise<void>,
) {
  const listed = exampleManifest({ endpoint });
  const adapters = new AdapterPool({ open: async () => open(), log: silentLog });
  const registry = new MemoryRegistry([listed]);
  const server = new AgentServer({ nodeId: 'n1', registry, adapters, log: silentLog });
  const { channels } = channelPair();
  const toLink = (channel: LinkChannel | undefined, serve: typeof server.serve) =>
    new NodeLink({
      channel: channel as LinkChannel,
      serve,
      peer: 'the other side',
      log: silentLog,
      maxServed: 100,
    });
  toLink(channels[0], server.serve);
  const links = new NodeLinks();
  links.add({
    nodeId: 'n1',
    runId: 'run',
    principalId: 'worker',
    link: toLink(channels[1], async () => null),
    offerOf: () => 'registered',
  });
  const { protocol } = listed.endpoint;
  const manifest = exampleManifest({ node_id: 'n1', endpoint: { transport: 'node', protocol } });
  return {
    adapter: openNodeAdapter(manifest, links),
    stopAgent,
    async close() {
      await adapters.close();
      await registry.close();
      await stopAgent();
    },
  };
}

const URI = { transport: 'http', uri: 'http://127.0.0.1:9/' } as const;

describe('[G38] an agent behind a node', () => {
  adapterContract(
    'a function, behind a node',
    async () => {
      const agent = new ContractAgent();
      const adapter = new MemoryAdapter(
        exampleManifest(),
        ({ input, trace, hop }, signal, context) =>
          agent.work({
            task: input.task,
            seen: { trace_id: trace.trace_id, ...hop },
            signal,
            conversation: converse(context),
            ask: async (requests) => {
              if (context.responses) return context.responses;
              const cancelled = requests.map(({ id }) => ({ id, action: 'cancel' as const }));
              return (
                (await context.ask?.(requests, { handle: { asked: requests.length } })) ?? cancelled
              );
            },
          }),
      );
      const endpoint = { ...URI, protocol: 'memory' };
      return behindNode(
        endpoint,
        () => adapter,
        () => adapter.close(),
      );
    },
    { asks: true, waits: true, conversations: true },
  );

  adapterContract(
    'a2a, behind a node',
    async () => {
      const server = await serveA2a(new ContractExecutor(new ContractAgent()), {});
      const endpoint = { ...URI, protocol: 'a2a', uri: server.base };
      const manifest = exampleManifest({ endpoint });
      const open = () => createA2aAdapter({ manifest, log: silentLog });
      return behindNode(endpoint, open, () => server.close());
    },
    { asks: true, waits: true, conversations: true, joins: true },
  );

  adapterContract(
    'mcp, behind a node',
    async () => {
      const server = await serveModern(contractServer(new ContractAgent()));
      const endpoint = { ...URI, uri: server.uri };
      const manifest = exampleManifest({ endpoint });
      const open = () => createMcpAdapter({ manifest, log: silentLog });
      return behindNode(endpoint, open, () => server.close());
    },
    { asks: true, waits: true, attachments: false },
  );
});

describe('what a call carries through a node', () => {
  const open = (agent: MemoryAgent) => {
    const adapter = new MemoryAdapter(exampleManifest(), agent);
    return behindNode(
      { ...URI, protocol: 'memory' },
      () => adapter,
      () => adapter.close(),
    );
  };
  const run = async (adapter: Adapter, more: Partial<CallContext>) => {
    const context = { signal: new AbortController().signal, log: silentLog, ...more };
    return await Array.fromAsync(adapter.call(exampleEnvelope('go'), context));
  };

  it('is its mandate, what its client added and declared, and what the agent tells that client', async () => {
    const { adapter, close } = open(async function* (_, __, { mandate, meta, declared, notify }) {
      await notify?.({ method: 'notifications/message', params: { level: 'info' } });
      yield { type: 'final', data: { answer: 'seen', data: { mandate, meta, declared } } };
    });
    const given = { mandate: 'mandate-1', meta: { 'x/y': 1 }, declared: { sampling: {} } };
    const notified: unknown[] = [];
    const notify = async (notification: unknown) => void notified.push(notification);
    expect(await run(adapter, { ...given, notify })).toMatchObject([{ data: { data: given } }]);
    expect(notified).toEqual([{ method: 'notifications/message', params: { level: 'info' } }]);
    await close();
  });

  it('is held to what operators approved, and asks about that only when the agent lists something else', async () => {
    const { adapter, close } = open(async function* () {
      yield { type: 'final', data: { answer: 'done' } };
    });
    const confirmed: string[] = [];
    let isApproved = true;
    const confirm = ({ name }: Capability) => {
      confirmed.push(name);
      if (!isApproved) throw new FabricError('MANIFEST_CHANGED', 'Not approved');
    };
    for (let n = 1; n <= 3; n += 1) {
      expect(await run(adapter, { confirm })).toHaveLength(1);
      expect(confirmed).toHaveLength(n);
    }
    isApproved = false;
    await expect(run(adapter, { confirm })).rejects.toMatchObject({ code: 'MANIFEST_CHANGED' });
    await close();
  });
});

function converse({ handle, keep }: CallContext): string {
  const conversation = String(handle?.conversation ?? crypto.randomUUID());
  keep?.({ conversation });
  return conversation;
}
