import type { Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway } from '../gateway-client.ts';
import type { Terminal } from '../terminal.ts';
import { line, paintHealth, table } from '../terminal-text.ts';
import { didYouMean, readTarget } from './target.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom route percy reason', '']])
    .argument('<target>', 'agent, agent.capability, or a capability alone')
    .argument('[capability]')
    .action(action(terminal, () => previewRoute));
}

export async function previewRoute(
  terminal: Terminal,
  target: string,
  named: string | undefined,
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { agentId, capability } = await readTarget(
    client,
    named === undefined ? [target] : [target, named],
  );
  const asked = { ...(agentId && { agent_id: agentId }), capability };
  const payload = await client.call('fabric.route.preview', asked).catch(async (error: unknown) => {
    throw await didYouMean(error, client, agentId ? [agentId, capability] : [capability]);
  });
  if (json) return terminal.json(payload);
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
