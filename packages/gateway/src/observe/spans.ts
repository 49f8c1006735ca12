// Names of the spans of a gateway, and what each says.

import {
  ERRORS,
  type ErrorCode,
  type FabricError,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import { ATTRIBUTE, type Attributes, knownAttributes } from '@starloom/wire';
import { clip } from './log-lines.ts';
import type {
  AttemptOutcome,
  AttemptStart,
  CallEntry,
  CallOutcome,
  CallStart,
  JobFacts,
  ObserverParts,
} from './observer.ts';
import { redactText } from './redact.ts';

const MAX_NAME = 128;

/** What a request says of itself. */
type RequestFacts = Pick<
  CallStart,
  'transport' | 'method' | 'protocolVersion' | 'requestId' | 'depth' | 'job'
>;

export type CallFacts = Omit<CallEntry, 'trace_id' | 'span_id' | 'job_id' | 'ok' | 'ms'>;

interface AttemptSpanFacts {
  readonly trace: Trace;
  readonly capability: string | null;
  readonly startMs: number;
  readonly endMs: number;
}

interface RequestSpanFacts extends Pick<RequestFacts, 'transport' | 'method' | 'requestId'> {
  readonly face: string;
  readonly name: string;
  readonly principal: string | null;
  readonly code: ErrorCode | null;
}

/** Of a call of an agent. */
export function recordCallSpan(
  { tracing }: ObserverParts,
  start: CallStart,
  entry: CallEntry,
  outcome: CallOutcome,
  startMs: number,
): void {
  const { trace, method, requestId, job, parentSpanId = trace.parent_span_id } = start;
  const isProtocolError = outcome.ok ? undefined : outcome.protocolError;
  const id = typeof requestId === 'string' ? clip(requestId, MAX_NAME) : requestId;
  tracing.record({
    ...idsOf(trace, parentSpanId),
    name: job ? jobSpanName(entry.capability) : serverSpanName(method, entry.tool),
    kind: job ? 'consumer' : 'server',
    startMs,
    endMs: startMs + (entry.ms ?? 0),
    failure: outcome.ok ? undefined : redactText(outcome.error.message),
    attributes: serverAttributes(
      { ...start, requestId: id },
      entry,
      isProtocolError ?? !failsInResult(method),
    ),
  });
}

export function recordAttemptSpan(
  { tracing }: ObserverParts,
  info: AttemptStart,
  outcome: AttemptOutcome,
  { trace, capability, startMs, endMs }: AttemptSpanFacts,
): void {
  tracing.record({
    ...idsOf(trace),
    name: agentSpanName(info.agentId),
    kind: 'client',
    startMs,
    endMs,
    failure: outcome.ok ? undefined : redactText(outcome.error.message),
    attributes: agentAttributes(info, capability, outcome.ok ? null : outcome.error.code),
  });
}

/** Of a request that is no call of an agent. */
export function recordRequestSpan(
  { tracing, clock }: ObserverParts,
  request: RequestSpanFacts,
  trace: Trace,
  ms: number,
  error: FabricError | undefined,
): void {
  const endMs = clock.now();
  tracing.record({
    ...idsOf(trace),
    name: serverSpanName(request.method, request.name),
    kind: 'server',
    startMs: endMs - ms,
    endMs,
    failure: error && redactText(error.message),
    attributes: requestAttributes(request),
  });
}

function idsOf({ trace_id, span_id, parent_span_id }: Trace, parent = parent_span_id) {
  return {
    traceId: toW3cTraceId(trace_id),
    spanId: toW3cSpanId(span_id),
    parentSpanId: parent === null ? undefined : toW3cSpanId(parent),
  };
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
function jobSpanName(capability: string | null): string {
  return capability === null ? 'job' : `job ${capability}`;
}

export function agentSpanName(agentId: string): string {
  return `invoke_agent ${agentId}`;
}

/** Whether a failure of this method is a result with `isError` rather than a JSON-RPC error. */
function failsInResult(method: string): boolean {
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

function requestAttributes(request: RequestSpanFacts): Attributes {
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
