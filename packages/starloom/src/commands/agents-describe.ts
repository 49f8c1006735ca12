import {
  type Capability,
  closestWord,
  FabricError,
  type HeldCapability,
  protocolOf,
} from '@starloom/core';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { paint, paintHealth } from '../paint.ts';
import { line, toOneLine, toPlainText, toSafeJson } from '../plain-text.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { fit } from '../text-width.ts';
import type { AgentView } from '../tool-payloads.ts';
import { upstreamLines } from '../upstream-lines.ts';
import { argumentLines } from './argument-lines.ts';
import { didYouMean } from './did-you-mean.ts';

const ADVICE_WIDTH = 200;

export interface DescribeOptions extends GlobalOptions {
  /** Of `starloom agents`, one of which may have been meant. */
  readonly commands?: readonly string[];
}

export async function describeAgent(
  terminal: Terminal,
  agentId: string,
  { json, commands = [] }: DescribeOptions,
): Promise<void> {
  const meant = closestWord(agentId, commands);
  await using client = await connectToGateway(terminal);
  const agent = await describe(client, agentId).catch((error: unknown) => {
    const isUnknown = FabricError.is(error) && error.code === 'CAPABILITY_NOT_FOUND';
    throw isUnknown && meant !== undefined ? unknownCommand(agentId, meant) : error;
  });
  if (json) return terminal.print(toSafeJson(agent));
  terminal.print(toPage(agent));
}

function unknownCommand(word: string, meant: string): FabricError {
  const fix = `did you mean "starloom agents ${meant}"?`;
  return toUsageError(`there is no command or agent "${word}"`, fix);
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
    ['reached by', `${protocolOf(endpoint)} over ${transport}: ${uri ?? command ?? ''}`],
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

/** What waits for approval, and how it is approved. */
export function heldLines({ agent_id, held = [] }: Pick<AgentView, 'agent_id' | 'held'>): string[] {
  if (held.length === 0) return [];
  const lines = held.map((one) => line`  "${one.name}" ${heldWords(one)}, and is not served`);
  return [
    ...lines.map((text) => paint('yellow', text)),
    line`  fix: starloom agents approve ${agent_id}`,
  ];
}

export function heldWords({ reason, changes, like }: HeldCapability): string {
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

/** The beginning of what may be very long. */
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
