import type { Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import { count, upstreamLines } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { line, paintHealth, table } from '../terminal-text.ts';
import { type AgentRow, type EngineRow, toWaiting } from '../tool-payloads.ts';
import { heldLines } from './agents-show.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom health', ''],
    ['starloom health --json', ''],
  ]).action(action(terminal, () => showHealth));
}

export async function showHealth(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const payload = await client.call('fabric.health', {});
  if (json) return terminal.json(payload);
  const { gateway, registry, engines, agents } = payload;
  const rows = [
    ['gateway', gateway.status, `version ${gateway.version}, up ${gateway.uptime_s} s`],
    [
      'registry',
      registry.ok ? 'ok' : 'stale',
      registry.message ?? `${registry.kind}, ${count(registry.agents, 'agent')}`,
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
