// Names of the spans of a gateway, and what each says.

import { ERRORS, type ErrorCode } from '@starloom/core';
import { ATTRIBUTE, type Attributes, knownAttributes } from '@starloom/wire';
import type { AttemptStart, CallEntry, CallStart, JobFacts } from './active-call.ts';

/** What a request says of itself. */
type RequestFacts = Pick<
  CallStart,
  'transport' | 'method' | 'protocolVersion' | 'requestId' | 'depth' | 'job'
>;

export type CallFacts = Omit<CallEntry, 'trace_id' | 'span_id' | 'job_id' | 'ok' | 'ms'>;

interface RequestSpanFacts extends Pick<RequestFacts, 'transport' | 'method' | 'requestId'> {
  readonly face: string;
  readonly name: string;
  readonly principal: string | null;
  readonly code: ErrorCode | null;
}

/** Of clients. */
export const MCP_METHODS: ReadonlySet<string> = new Set(
  (
    'initialize ping server/discover tools/list tools/call resources/list resources/templates/list resources/read ' +
    'resources/subscribe resources/unsubscribe prompts/list prompts/get completion/complete logging/setLevel ' +
    'subscriptions/listen tasks/get tasks/update tasks/cancel notifications/initialized notifications/cancelled ' +
    'notifications/progress notifications/roots/list_changed'
  ).split(' '),
);

const TOOL_CALL = 'tools/call';
const TARGET_ATTRIBUTES: ReadonlyMap<string, string> = new Map([
  [TOOL_CALL, ATTRIBUTE.tool],
  ['prompts/get', ATTRIBUTE.prompt],
]);

/** Only tools and prompts have few enough names to stand in the name of a span. */
export function serverSpanName(method: string, name: string): string {
  return name !== '' && TARGET_ATTRIBUTES.has(method) ? `${method} ${name}` : method;
}

/** One run of a job. */
export function jobSpanName(capability: string | null): string {
  return capability === null ? 'job' : `job ${capability}`;
}

export function agentSpanName(agentId: string): string {
  return `invoke_agent ${agentId}`;
}

/** Whether a failure of this method is a result with `isError` rather than a JSON-RPC error. */
export function failsInResult(method: string): boolean {
  return method === TOOL_CALL;
}

/** `isProtocolError`: the answer was a JSON-RPC error, not a result with `isError`. */
export function serverAttributes(
  request: RequestFacts,
  call: CallFacts,
  isProtocolError: boolean,
): Attributes {
  const { method, transport, protocolVersion, requestId, depth, job } = request;
  const target = TARGET_ATTRIBUTES.get(method);
  const attributes = knownAttributes({
    ...(job ? jobAttributes(job) : transportAttributes(transport)),
    [ATTRIBUTE.method]: job ? undefined : method,
    [ATTRIBUTE.stream]: call.stream,
    [ATTRIBUTE.events]: call.events,
    [ATTRIBUTE.attempts]: call.attempts,
    [ATTRIBUTE.fallback]: call.fallback,
    [ATTRIBUTE.operation]: method === TOOL_CALL ? 'execute_tool' : undefined,
    ...(target !== undefined && { [target]: call.tool }),
    [ATTRIBUTE.protocolVersion]: protocolVersion,
    [ATTRIBUTE.requestId]: requestId === undefined ? undefined : String(requestId),
    [ATTRIBUTE.depth]: depth,
    [ATTRIBUTE.principal]: call.principal,
    [ATTRIBUTE.agentId]: call.agent_id,
    [ATTRIBUTE.capability]: call.capability,
    [ATTRIBUTE.firstEventMs]: call.first_event_ms,
    [ATTRIBUTE.errorCode]: call.code,
  });
  if (call.code === null) return attributes;
  attributes[ATTRIBUTE.errorType] = isProtocolError ? call.code : 'tool_error';
  if (isProtocolError) attributes[ATTRIBUTE.statusCode] = String(ERRORS[call.code].rpc);
  return attributes;
}

function transportAttributes(transport: string): Attributes {
  return {
    [ATTRIBUTE.networkTransport]: transport === 'stdio' ? 'pipe' : 'tcp',
    [ATTRIBUTE.transport]: transport,
  };
}

function jobAttributes({ id, attempt, mode }: JobFacts): Attributes {
  return {
    [ATTRIBUTE.jobId]: id,
    [ATTRIBUTE.jobAttempt]: attempt,
    [ATTRIBUTE.jobMode]: mode,
  };
}

/** Of a request that is no call of an agent. */
export function requestAttributes(request: RequestSpanFacts): Attributes {
  const { face, transport, method, name, requestId, principal, code } = request;
  const target = TARGET_ATTRIBUTES.get(method);
  return knownAttributes({
    [face === 'mcp' ? ATTRIBUTE.method : ATTRIBUTE.rpcMethod]: method,
    [ATTRIBUTE.face]: face,
    ...transportAttributes(transport),
    ...(target !== undefined && name !== '' && { [target]: name }),
    [ATTRIBUTE.requestId]: requestId === undefined ? undefined : String(requestId),
    [ATTRIBUTE.principal]: principal,
    [ATTRIBUTE.errorCode]: code,
    [ATTRIBUTE.errorType]: code,
  });
}

export function agentAttributes(
  { agentId, nodeId, protocol, index, breaker }: Omit<AttemptStart, 'isFallback'>,
  capability: string | null,
  code: ErrorCode | null,
): Attributes {
  return knownAttributes({
    [ATTRIBUTE.operation]: 'invoke_agent',
    [ATTRIBUTE.agentId]: agentId,
    [ATTRIBUTE.agentName]: agentId,
    [ATTRIBUTE.node]: nodeId,
    [ATTRIBUTE.protocol]: protocol,
    [ATTRIBUTE.fallbackIndex]: index,
    [ATTRIBUTE.capability]: capability,
    [ATTRIBUTE.breaker]: breaker,
    [ATTRIBUTE.errorType]: code,
    [ATTRIBUTE.errorCode]: code,
  });
}
