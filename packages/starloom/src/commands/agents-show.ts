import {
  type Capability,
  closestWord,
  FabricError,
  type HeldCapability,
  protocolOf,
  toFields,
} from '@starloom/core';
import type { GlobalOptions } from '../command-line.ts';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { toUsageError, upstreamLines } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { fit, line, paint, paintHealth, table, toOneLine, toPlainText } from '../terminal-text.ts';
import { type AgentView, offersOf } from '../tool-payloads.ts';
import type { AgentsOptions } from './agents.ts';
import { didYouMean } from './target.ts';

export async function listAgents(terminal: Terminal, options: AgentsOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { capability, tag, tier, status, modality, json } = options;
  const filter = { capability, tag, tier, status, modality };
  const { agents } = await client.call('fabric.agent.list', filter);
  if (json) return terminal.json({ agents });
  if (agents.length === 0) {
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    return terminal.tell(isFiltered ? 'no agents match' : NONE);
  }
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

export async function showHistory(
  terminal: Terminal,
  agentId: string,
  { limit, json }: GlobalOptions & { readonly limit: number },
): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { entries } = await client.call('fabric.agent.history', { agent_id: agentId, limit });
  if (json) return terminal.json({ agent_id: agentId, entries });
  if (entries.length === 0) return terminal.tell(`no change of the health of ${agentId} is known`);
  const rows = entries.map(({ at, node_id, status, reason, message, seen_by }) => [
    at,
    toOneLine(node_id),
    paintHealth(status),
    toOneLine([reason, message].filter((each) => each !== undefined).join(': ')),
    toOneLine(seen_by),
  ]);
  const head = ['AT', 'NODE', 'HEALTH', 'WHY', 'SEEN BY'];
  terminal.print(table(head, rows, terminal.columns));
}

const NONE =
  'no agents yet\n  starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .';

const ADVICE_WIDTH = 200;

export async function describeAgent(
  terminal: Terminal,
  agentId: string,
  { json, commands = [] }: GlobalOptions & { readonly commands?: readonly string[] },
): Promise<void> {
  const meant = closestWord(agentId, commands);
  await using client = await connectToGateway(terminal);
  const agent = await describe(client, agentId).catch((error: unknown) => {
    const isUnknown = FabricError.is(error) && error.code === 'CAPABILITY_NOT_FOUND';
    if (!isUnknown || meant === undefined) throw error;
    const fix = `did you mean "starloom agents ${meant}"?`;
    throw toUsageError(`there is no command or agent "${agentId}"`, fix);
  });
  if (json) return terminal.json(agent);
  terminal.print(toPage(agent));
}

/** The agent; the error for an unknown one names the nearest. */
export async function describe(client: GatewayClient, agentId: string): Promise<AgentView> {
  try {
    return (await client.call('fabric.agent.describe', { agent_id: agentId })).agent;
  } catch (error) {
    throw await didYouMean(error, client, [agentId]);
  }
}

function toPage(agent: AgentView): string {
  const { agent_id, description, health, endpoint, trust_tier, version, tags, fallbacks } = agent;
  const { transport, command, uri } = endpoint;
  const facts: [string, string][] = [
    ['health', [paintHealth(health.status), health.message].filter(Boolean).join(': ')],
    ['reached by', `${protocolOf(endpoint)} over ${transport}: ${uri ?? command ?? agent.node_id}`],
    ['trust tier', trust_tier],
    ['version', version],
    ['node', agent.node_id],
    ['tags', tags.join(', ')],
    ['fallbacks', fallbacks.join(', ')],
    ['its advice', toOneLine(agent.instructions ?? '', ADVICE_WIDTH)],
  ];
  return [
    paint('bold', toOneLine(agent_id)) + (description ? `: ${toOneLine(description)}` : ''),
    ...facts.flatMap(([name, value]) =>
      value === '' ? [] : `  ${name.padEnd(11)} ${toOneLine(value)}`,
    ),
    ...upstreamLines(health.upstream).map((text) => `  ${text}`),
    ...(health.fix === undefined ? [] : [line`  fix: ${health.fix}`]),
    '',
    ...agent.capabilities.flatMap((capability) => [...capabilityLines(capability), '']),
    ...(agent.capabilities.length === 0 ? ['  offers no tools'] : []),
    ...heldLines(agent),
    ...(agent.missing ?? []).map(({ name, near }) => {
      const hint = near === undefined ? '' : line`; did you mean "${near}"?`;
      return paint('yellow', line`  "${name}" is declared, but the agent does not offer it${hint}`);
    }),
  ]
    .join('\n')
    .trimEnd();
}

export function heldLines({ agent_id, held = [] }: Pick<AgentView, 'agent_id' | 'held'>): string[] {
  if (held.length === 0) return [];
  const lines = held.map((one) => line`  "${one.name}" ${heldWords(one)}, and is not served`);
  return [
    ...lines.map((text) => paint('yellow', text)),
    line`  fix: starloom agents approve ${agent_id}`,
  ];
}

function heldWords({ reason, changes, like }: HeldCapability): string {
  if (reason === 'changed') return `changed (${changes.join(', ')})`;
  return reason === 'new' ? 'is new' : `is new and looks like "${like}"`;
}

function capabilityLines(capability: Capability): string[] {
  const { name, description, annotations, streaming, timeout_ms, input_schema } = capability;
  const marks = [
    ...(streaming ? ['streams'] : []),
    ...(timeout_ms === undefined ? [] : [`${timeout_ms} ms`]),
    ...Object.entries(annotations ?? {}).flatMap(([hint, value]) =>
      value === true ? [toOneLine(hint).replace(/Hint$/, '')] : [],
    ),
  ];
  return [
    `  ${paint('cyan', toOneLine(name))}${marks.length > 0 ? paint('dim', `  (${marks.join(', ')})`) : ''}`,
    ...descriptionLines(description).map((line) => `    ${line}`),
    ...argumentLines(input_schema).map((line) => `      ${line}`),
  ];
}

const MAX_LINES = 12;
const MAX_LENGTH = 300;

function descriptionLines(description = ''): string[] {
  const lines = description
    .replaceAll('\t', '  ')
    .trim()
    .split('\n', MAX_LINES + 1);
  const shown = lines
    .slice(0, MAX_LINES)
    .map((line) => fit(toPlainText(line.slice(0, 2 * MAX_LENGTH)), MAX_LENGTH));
  return [...shown, ...(lines.length > MAX_LINES ? ['…'] : [])].filter((line) => line !== '');
}

export async function showTools(terminal: Terminal, agentId: string, { json }: GlobalOptions) {
  await using client = await connectToGateway(terminal);
  const agent = await describe(client, agentId);
  if (json) return terminal.json({ agent_id: agentId, tools: toolRows(agent) });
  terminal.print(toolTable(agent, terminal.columns));
  if (agent.held) terminal.tell(`fix: starloom agents approve ${agentId}`);
}

export function toolRows({ capabilities, held = [] }: AgentView) {
  const served = capabilities.map(({ name, title, description, annotations }) => {
    return { name, title, description, annotations };
  });
  return [...served, ...held.map((one) => ({ ...one, state: toState(one) }))];
}

function toState({ reason }: HeldCapability): string {
  return reason === 'look_alike' ? 'look-alike' : reason;
}

const TOOL_DESCRIPTION = 300;

export function toolTable(agent: AgentView, columns: number | undefined): string {
  const { agent_id, capabilities, held = [], health } = agent;
  if (capabilities.length + held.length === 0)
    return `${agent_id} offers no tools (${health.status})`;
  const rows = capabilities.map((capability) => [
    capability.name,
    effectOf(capability),
    toOneLine(capability.title ?? capability.description ?? '', TOOL_DESCRIPTION),
  ]);
  const waiting = held.map((one) => [
    one.name,
    paint('yellow', toState(one)),
    `${heldWords(one)}: not served before it is approved`,
  ]);
  return table(['TOOL', 'EFFECT', 'DESCRIPTION'], [...rows, ...waiting], columns);
}

/** In one word, from the hints of the agent: they are its claim, not a guarantee. */
function effectOf({ annotations = {} }: Capability): string {
  if (annotations.readOnlyHint === true) return paint('green', 'reads');
  if (annotations.destructiveHint === true) return paint('red', 'destroys');
  if (annotations.readOnlyHint === false) return paint('yellow', 'writes');
  return '';
}

const MAX_ARGUMENTS = 60;
const NAME = 60;
const NOTE = 120;
const DESCRIPTION = 200;

/**
 * `path  string, required  The file to read`, one line for each argument. The schema is the agent's:
 * whatever has another shape than expected is left out.
 */
export function argumentLines(schema: unknown): string[] {
  const { properties, required } = toFields(schema);
  const wanted = new Set(Array.isArray(required) ? required : []);
  const all = Object.entries(toFields(properties));
  const rows = all.slice(0, MAX_ARGUMENTS).map(([name, property]) => {
    const { description } = toFields(property);
    return {
      name: toOneLine(name, NAME),
      note: toOneLine(noteOf(toFields(property), wanted.has(name)), NOTE),
      text: typeof description === 'string' ? toOneLine(description, DESCRIPTION) : '',
    };
  });
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  const left = all.length - rows.length;
  return [
    ...rows.map(({ name, note, text }) =>
      `${name.padEnd(width)}  ${paint('dim', note)}  ${text}`.trimEnd(),
    ),
    ...(left > 0 ? [`… and ${left} more`] : []),
  ];
}

function noteOf(property: Readonly<Record<string, unknown>>, isRequired: boolean): string {
  const { type, enum: choices, default: standard } = property;
  const kinds = Array.isArray(choices) ? choices : [type ?? 'any'].flat();
  return [
    kinds.map(String).join(' | '),
    ...(isRequired ? ['required'] : []),
    ...(standard === undefined ? [] : [`default ${JSON.stringify(standard)}`]),
  ].join(', ');
}
