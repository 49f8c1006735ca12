import { protocolOf } from '@starloom/core';
import { connectToGateway } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { paintHealth } from '../paint.ts';
import { line, toSafeJson } from '../plain-text.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { AgentRow, EngineRow } from '../tool-payloads.ts';
import { upstreamLines } from '../upstream-lines.ts';
import type { AgentsOptions } from './agents.ts';
import { heldLines } from './agents-describe.ts';
import { didYouMean } from './did-you-mean.ts';
import { offersOf, toWaiting } from './offers-of.ts';
import { readTarget } from './target.ts';

export async function listAgents(terminal: Terminal, options: AgentsOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { capability, tag, tier, status, modality, json } = options;
  const given = Object.entries({ capability, tag, tier, status, modality });
  const filter = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  const { agents } = await client.call('fabric.agent.list', filter);
  if (json) return terminal.print(toSafeJson({ agents }));
  if (agents.length === 0) return terminal.tell(Object.keys(filter).length > 0 ? NO_MATCH : NONE);
  const rows = agents.map((agent) => [
    agent.agent_id,
    paintHealth(agent.health.status),
    agent.trust_tier,
    protocolOf(agent.endpoint),
    offersOf(agent),
  ]);
  const head = ['AGENT', 'HEALTH', 'TIER', 'PROTOCOL', 'CAPABILITIES'];
  terminal.print(table(head, rows, terminal.columns));
}

const NO_MATCH = 'no agents match';
const NONE =
  'no agents yet\n  starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .';

export async function previewRoute(
  terminal: Terminal,
  words: readonly string[],
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { agentId, capability } = await readTarget(client, words);
  const asked = { ...(agentId && { agent_id: agentId }), capability };
  const payload = await client.call('fabric.route.preview', asked).catch(async (error: unknown) => {
    throw await didYouMean(error, client, agentId ? [agentId, capability] : [capability]);
  });
  if (json) return terminal.print(toSafeJson(payload));
  const candidates = [payload.primary ?? [], ...payload.fallbacks].flat();
  const rows = candidates.map(({ agent_id, kind, health, reason }, index) => [
    String(index + 1),
    agent_id,
    kind,
    paintHealth(health),
    reason,
  ]);
  terminal.print(table(['', 'AGENT', 'AS', 'HEALTH', 'WHY'], rows, terminal.columns));
  for (const { agent_id, reason } of payload.skipped)
    terminal.tell(line`not ${agent_id}: ${reason}`);
}

export async function showHealth(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const payload = await client.call('fabric.health', {});
  if (json) return terminal.print(toSafeJson(payload));
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
    ...agents.list.map(({ agent_id, status, breaker, message, held }) => [
      agent_id,
      status,
      [breaker === 'closed' ? '' : `circuit ${breaker}`, toWaiting(held), message]
        .filter(Boolean)
        .join(', '),
    ]),
  ];
  const painted = rows.map(([part = '', status = '', note = '']) => [
    part,
    paintHealth(status),
    note,
  ]);
  terminal.print(table(['PART', 'STATUS', ''], painted, terminal.columns));
  for (const agent of agents.list) showTrouble(terminal, agent);
  for (const { agent_id, held } of agents.list) {
    if (held) terminal.print(['', line`${agent_id}:`, ...heldLines({ agent_id, held })].join('\n'));
  }
}

/** Why an agent is not online, or what to know of it, as its own side said it: whole, where the table cuts. */
function showTrouble(terminal: Terminal, agent: AgentRow): void {
  const { agent_id, status, message, upstream, fix } = agent;
  const lines = [...upstreamLines(upstream), ...(fix === undefined ? [] : [line`fix: ${fix}`])];
  if (message === undefined && (status === 'online' || lines.length === 0)) return;
  terminal.print(
    ['', line`${agent_id}: ${message ?? status}`, ...lines.map((text) => `  ${text}`)].join('\n'),
  );
}

function fixesOf({ fix, warnings = [] }: EngineRow): string[] {
  const fixes = [fix, ...warnings.map((warning) => warning.fix)];
  return fixes.flatMap((each) => (each === undefined ? [] : `fix: ${each}`));
}
