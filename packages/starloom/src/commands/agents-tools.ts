import type { Capability, HeldCapability } from '@starloom/core';
import { connectToGateway } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { paint } from '../paint.ts';
import { toOneLine, toSafeJson } from '../plain-text.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { AgentView } from '../tool-payloads.ts';
import { describe, heldWords } from './agents-describe.ts';

/** What an agent offers: name, description and what it says about side effects. */
export async function showTools(
  terminal: Terminal,
  agentId: string,
  { json }: GlobalOptions,
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const agent = await describe(client, agentId);
  if (json) return terminal.print(toSafeJson({ agent_id: agentId, tools: toolRows(agent) }));
  terminal.print(toolTable(agent, terminal.columns));
  if (agent.held) terminal.tell(`fix: starloom agents approve ${agentId}`);
}

export function toolRows({ capabilities, held = [] }: AgentView) {
  const served = capabilities.map(({ name, title, description, annotations }) => ({
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(annotations !== undefined && { annotations }),
  }));
  return [...served, ...held.map((one) => ({ ...one, state: toState(one) }))];
}

/** In a word, for a tool that waits for approval. */
function toState({ reason }: HeldCapability): string {
  return reason === 'look_alike' ? 'look-alike' : reason;
}

const DESCRIPTION = 300;

export function toolTable(agent: AgentView, columns: number | undefined): string {
  const { agent_id, capabilities, held = [], health } = agent;
  if (capabilities.length + held.length === 0)
    return `${agent_id} offers no tools (${health.status})`;
  const rows = capabilities.map((capability) => [
    capability.name,
    effectOf(capability),
    toOneLine(capability.title ?? capability.description ?? '', DESCRIPTION),
  ]);
  const waiting = held.map((one) => [
    one.name,
    paint('yellow', toState(one)),
    `${heldWords(one)}: not served before it is approved`,
  ]);
  return table(['TOOL', 'EFFECT', 'DESCRIPTION'], [...rows, ...waiting], columns);
}

/** In one word, from the hints of the agent: they are its claim, not a guarantee. */
export function effectOf({ annotations = {} }: Capability): string {
  if (annotations.readOnlyHint === true) return paint('green', 'reads');
  if (annotations.destructiveHint === true) return paint('red', 'destroys');
  if (annotations.readOnlyHint === false) return paint('yellow', 'writes');
  return '';
}
