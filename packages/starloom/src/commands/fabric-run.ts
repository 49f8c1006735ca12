import { connectToGateway } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { EngineRow } from '../tool-payloads.ts';
import type { AgentsOptions } from './fabric.ts';
import { readTarget } from './target.ts';

export async function listAgents(terminal: Terminal, options: AgentsOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { capability, tag, tier, status, modality, json } = options;
  const given = Object.entries({ capability, tag, tier, status, modality });
  const filter = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const { agents } = await client.call('fabric.agent.list', filter);
  if (json) return terminal.print(JSON.stringify({ agents }));
  if (agents.length === 0) return terminal.tell('no agents match');
  const rows = agents.map((agent) => [
    agent.agent_id,
    agent.health.status,
    agent.trust_tier,
    agent.endpoint.protocol ?? agent.endpoint.transport,
    agent.capabilities.map(({ name }) => name).join(', '),
    agent.description ?? '',
  ]);
  terminal.print(table(['AGENT', 'HEALTH', 'TIER', 'PROTOCOL', 'CAPABILITIES', ''], rows));
}

export async function describeAgent(
  terminal: Terminal,
  agent_id: string,
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { agent } = await client.call('fabric.agent.describe', { agent_id });
  terminal.print(JSON.stringify(agent, null, json ? 0 : 2));
}

export async function previewRoute(
  terminal: Terminal,
  words: readonly string[],
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { agentId, capability } = await readTarget(client, words);
  const payload = await client.call('fabric.route.preview', {
    ...(agentId && { agent_id: agentId }),
    capability,
  });
  if (json) return terminal.print(JSON.stringify(payload));
  const candidates = [payload.primary ?? [], ...payload.fallbacks].flat();
  const rows = candidates.map(({ agent_id, kind, health, reason }, index) => [
    String(index + 1),
    agent_id,
    kind,
    health,
    reason,
  ]);
  terminal.print(table(['', 'AGENT', 'AS', 'HEALTH', 'WHY'], rows));
  for (const { agent_id, reason } of payload.skipped) terminal.tell(`not ${agent_id}: ${reason}`);
}

export async function showHealth(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const payload = await client.call('fabric.health', {});
  if (json) return terminal.print(JSON.stringify(payload));
  const { gateway, registry, engines, agents } = payload;
  const rows = [
    ['gateway', gateway.status, `version ${gateway.version}, up ${gateway.uptime_s} s`],
    [
      'registry',
      registry.ok ? 'ok' : 'stale',
      registry.message ?? `${registry.kind}, ${registry.agents} agents`,
    ],
    ...Object.entries(engines).map(([name, engine]) => [
      name,
      engine.status,
      [engine.kind, engine.reason, ...fixesOf(engine)].filter(Boolean).join(', '),
    ]),
    ...agents.list.map(({ agent_id, status, breaker, message }) => [
      agent_id,
      status,
      [breaker === 'closed' ? '' : `circuit ${breaker}`, message].filter(Boolean).join(', '),
    ]),
  ];
  terminal.print(table(['PART', 'STATUS', ''], rows));
}

function fixesOf({ fix, warnings = [] }: EngineRow): string[] {
  const fixes = [fix, ...warnings.map((warning) => warning.fix)];
  return fixes.flatMap((each) => (each === undefined ? [] : `fix: ${each}`));
}
