import { type Capability, FabricError, protocolOf } from '@starloom/core';
import { closestWord } from '@starloom/wire/config';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import type { GlobalOptions } from '../global-options.ts';
import { paint, paintHealth } from '../paint.ts';
import { toOneLine, toSafeJson } from '../plain-text.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import type { AgentView } from '../tool-payloads.ts';
import { upstreamLines } from '../upstream-lines.ts';
import { didYouMean } from './did-you-mean.ts';

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
  ];
  return [
    paint('bold', agent_id) + (description ? `: ${toOneLine(description)}` : ''),
    ...facts.flatMap(([name, value]) => (value === '' ? [] : `  ${name.padEnd(11)} ${value}`)),
    ...upstreamLines(health.upstream).map((line) => `  ${line}`),
    ...(health.fix === undefined ? [] : [`  fix: ${health.fix}`]),
    '',
    ...agent.capabilities.flatMap((capability) => [...capabilityLines(capability), '']),
    ...(agent.capabilities.length === 0 ? ['  offers no tools'] : []),
    ...(agent.missing ?? []).map(({ name, near }) => {
      const hint = near === undefined ? '' : `; did you mean "${near}"?`;
      return paint('yellow', `  "${name}" is declared, but the agent does not offer it${hint}`);
    }),
  ]
    .join('\n')
    .trimEnd();
}

function capabilityLines(capability: Capability): string[] {
  const { name, description, annotations, streaming, timeout_ms, input_schema } = capability;
  const marks = [
    ...(streaming ? ['streams'] : []),
    ...(timeout_ms === undefined ? [] : [`${timeout_ms} ms`]),
    ...Object.entries(annotations ?? {}).flatMap(([hint, value]) =>
      value === true ? [hint.replace(/Hint$/, '')] : [],
    ),
  ];
  return [
    `  ${paint('cyan', name)}${marks.length > 0 ? paint('dim', `  (${marks.join(', ')})`) : ''}`,
    ...(description
      ? description
          .trim()
          .split('\n')
          .slice(0, 12)
          .map((line) => `    ${line}`)
      : []),
    ...argumentLines(input_schema).map((line) => `      ${line}`),
  ];
}

interface ArgumentSchema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: unknown;
  readonly default?: unknown;
}

/** `path  string, required  The file to read`, one line for each argument. */
function argumentLines(schema: Readonly<Record<string, unknown>> | undefined): string[] {
  const properties = (schema?.properties ?? {}) as Record<string, ArgumentSchema | boolean>;
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const names = Object.keys(properties);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names.map((name) => {
    const property = properties[name];
    const known = typeof property === 'object' && property !== null ? property : {};
    const kind = known.enum
      ? known.enum.map(String).join(' | ')
      : [known.type ?? 'any'].flat().join(' | ');
    const notes = [kind, ...(required.has(name) ? ['required'] : [])];
    if (known.default !== undefined) notes.push(`default ${JSON.stringify(known.default)}`);
    const text =
      typeof known.description === 'string' ? `  ${toOneLine(known.description, 200)}` : '';
    return `${name.padEnd(width)}  ${paint('dim', notes.join(', '))}${text}`;
  });
}
