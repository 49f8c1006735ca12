// One gateway as an operator starts it, an ordinary agent beside it, and the hostile ones in reserve.

import { setTimeout as delay } from 'node:timers/promises';
import type { ManifestInput } from '@starloom/core';
import { childEnvironment } from '@starloom/wire';
import { Child } from '../../bench/child.ts';
import { ownProgram } from '../../bench/own-program.ts';
import {
  type RunningGateway,
  startGateway,
  writeAgents,
} from '../../test/support/start-gateway.ts';
import { PROBED_ENVIRONMENT } from './gateway-probe.ts';
import { type HostileAgentName, LOOPER_PRINCIPAL, toManifest } from './hostile-agents.ts';
import { post, toolCall } from './http-client.ts';

const START_MS = 30_000;
const KEYS = {
  ordinary: 'ORDINARY_KEY',
  attacker: 'ATTACKER_KEY',
  [LOOPER_PRINCIPAL]: 'LOOPER_KEY',
};

export interface World extends AsyncDisposable {
  readonly gateway: RunningGateway;
  /** Without a path. */
  readonly url: string;
  readonly ordinaryKey: string;
  /** Where the ordinary agent is without a gateway. */
  readonly agentUrl: string;
  readonly attackerKey: string;
  /** Of a bare proxy in front of the same agents. */
  readonly proxyUrl?: string | undefined;
  /** Writes `agents.yaml` again: the ordinary agents and these. */
  useAgents(names: readonly HostileAgentName[]): Promise<void>;
  /** Lines of level error that the gateway has logged so far. */
  errorLines(): number;
}

export interface WorldOptions {
  /** Of the gateway, where they are not the defaults. */
  readonly limits?: Readonly<Record<string, number>> | undefined;
  readonly hasProxy?: boolean;
  /** The program of the gateway; by default its source. */
  readonly command?: string | undefined;
}

export async function openWorld(
  signal: AbortSignal,
  { limits = {}, hasProxy = false, command }: WorldOptions = {},
): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const keys = Object.fromEntries(Object.values(KEYS).map((name) => [name, newKey()]));
  const start = async (which: string) => {
    const env = childEnvironment({ extra: { CALLBACK_KEY: String(keys.LOOPER_KEY) } });
    const program = ownProgram('../prove/abuse/agents-program.ts', which);
    const child = opened.use(await Child.start({ ...program, env }));
    const { port } = (await child.receive(START_MS, signal)) as { port: number };
    return `http://127.0.0.1:${port}`;
  };
  const [goodBase, hostileBase] = await Promise.all([start('good'), start('hostile')]);
  const startProxy = async () => {
    const paths = [hostileBase, `/good=${goodBase}`] as const;
    const child = opened.use(await Child.start(ownProgram('targets/bare-proxy.ts', ...paths)));
    return ((await child.receive(START_MS, signal)) as { url: string }).url;
  };
  const proxyUrl = hasProxy ? await startProxy() : undefined;
  const ordinary = [toManifest('good', goodBase), toManifest('tools', goodBase)];
  const psk = Object.entries(KEYS).map(([principal, name]) => ({
    key_id: principal,
    key: `env:${name}`,
    principal,
  }));
  const gateway = opened.use(
    await startGateway({
      agents: ordinary,
      config: { auth: { psk }, limits },
      env: { ...keys, ...PROBED_ENVIRONMENT },
      command,
    }),
  );
  const url = gateway.url.replace(/\/mcp$/, '');
  const ordinaryKey = String(keys.ORDINARY_KEY);
  const kept = opened.move();
  return {
    gateway,
    url,
    ordinaryKey,
    agentUrl: `${goodBase}/good`,
    attackerKey: String(keys.ATTACKER_KEY),
    proxyUrl,
    async useAgents(names) {
      const manifests = names.map((name): ManifestInput => toManifest(name, hostileBase));
      await writeAgents(gateway.folder, [...ordinary, ...manifests]);
      for (const { agent_id } of manifests) await untilKnown(url, ordinaryKey, agent_id);
    },
    errorLines: () => gateway.log.filter((line) => /"level":(?:"error"|[56]0)/.test(line)).length,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Until the gateway has read the file again; discovery may still run, or never end. */
async function untilKnown(url: string, key: string, agent_id: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  const body = toolCall('fabric.agent.list', {});
  for (;;) {
    const { text } = await post(url, { key, body });
    if (text.includes(`\\"agent_id\\":\\"${agent_id}\\"`)) return;
    if (performance.now() > deadline) throw new Error(`the agent ${agent_id} does not appear`);
    await delay(50);
  }
}

function newKey(): string {
  return `key-${crypto.randomUUID()}-${crypto.randomUUID()}`;
}
