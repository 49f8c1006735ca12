// A node put together: its agents from a file, their adapters, and a connection to each gateway.

import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isMcpRelay } from '@starloom/adapters';
import { Closers, FabricError, type Manifest } from '@starloom/core';
import { AdapterPool, type Observer } from '@starloom/gateway';
import { openYamlRegistry } from '@starloom/registry';
import { AdapterOpener } from '../agent-adapters.ts';
import { OPTION_SCHEMAS } from '../option-schemas.ts';
import { AgentServer } from './agent-server.ts';
import { type DialerEvent, GatewayDialer } from './gateway-dialer.ts';

interface OpenNodeOptions {
  readonly nodeId: string;
  readonly gateways: readonly string[];
  readonly key: string;
  readonly agents: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stateFolder?: string | undefined;
  readonly observer: Observer;
  readonly onEvent: (event: DialerEvent) => void;
  /** In place of the adapters of the product. */
  readonly openAdapter?: ConstructorParameters<typeof AdapterPool>[0]['open'];
  readonly drainMs?: number;
}

interface OpenedNode {
  /** Rejects when every gateway refused the first attempt, for a reason that no later attempt changes. */
  readonly connected: Promise<void>;
  /** Takes no new calls, finishes those under way, then leaves. */
  close(): Promise<void>;
}

const DRAIN_MS = 30_000;
const LOOK_MS = 20;
const LISTS = ['tools', 'prompts', 'resources'] as const;

export async function openNode(options: OpenNodeOptions): Promise<OpenedNode> {
  const { nodeId, gateways, key, agents, env, stateFolder, observer, onEvent } = options;
  const { log } = observer;
  const closers = new Closers();
  const files = { path: agents, env, optionSchemas: OPTION_SCHEMAS };
  const registry = await openYamlRegistry({ ...files, log });
  closers.add(() => registry.close());
  const reopen = (agentId: string) => adapters.retire(agentId);
  const folder = dirname(agents);
  const opener = new AdapterOpener({ env, folder, stateFolder, observer, reopen });
  closers.add(async () => opener.close());
  const open = options.openAdapter ?? opener.open;
  const adapters = new AdapterPool({
    log,
    open: async (manifest: Manifest) => {
      const adapter = await open(manifest);
      if (!isMcpRelay(adapter)) return adapter;
      const { agent_id } = manifest;
      for (const kind of LISTS) {
        adapter.onListChanged(kind, () => {
          for (const dialer of dialers) void dialer.tell('list_changed', { agent_id, kind });
        });
      }
      return adapter;
    },
  });
  closers.add(() => adapters.close());
  const server = new AgentServer({ nodeId, registry, adapters, log });
  const hello = { node_id: nodeId, run_id: randomUUID() };
  const offers = () => server.offers();
  const dialers = gateways.map(
    (url) => new GatewayDialer({ url, key, hello, offers, serve: server.serve, onEvent, log }),
  );
  const unwatch = registry.watch(({ kind, agentIds }) => {
    if (kind !== 'agents') return;
    for (const agentId of agentIds) {
      const manifests = registry.get(agentId)?.instances.map(({ manifest }) => manifest);
      adapters.retire(agentId, manifests);
    }
    for (const dialer of dialers) void dialer.offer();
  });
  for (const dialer of dialers) dialer.start();
  return {
    connected: firstAttempts(dialers),
    async close() {
      unwatch();
      await Promise.all(dialers.map((dialer) => dialer.tell('drain')));
      const until = performance.now() + (options.drainMs ?? DRAIN_MS);
      while (server.calls > 0 && performance.now() < until) {
        await delay(LOOK_MS);
      }
      await Promise.all(dialers.map((dialer) => dialer.tell('leave')));
      await Promise.all(dialers.map((dialer) => dialer.close()));
      const onError = (thrown: unknown) =>
        log.error({ error: FabricError.from(thrown) }, 'a part did not close');
      await closers.close(onError);
    },
  };
}

/** Refusals that no later attempt changes. */
function isFinal({ code, details }: FabricError): boolean {
  // The process that has the id may be gone, and the gateway not know it yet.
  if (details.reason === 'node_taken') return false;
  return code === 'AUTH_DENIED' || code === 'POLICY_DENIED' || code === 'BAD_INPUT';
}

async function firstAttempts(dialers: readonly GatewayDialer[]): Promise<void> {
  const outcomes = await Promise.allSettled(dialers.map(({ first }) => first));
  const errors = outcomes.flatMap((one) =>
    one.status === 'rejected' ? FabricError.from(one.reason) : [],
  );
  const [error] = errors;
  if (error && errors.length === dialers.length && errors.every(isFinal)) throw error;
}
