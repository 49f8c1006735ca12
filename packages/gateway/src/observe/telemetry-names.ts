// Names of spans and their attributes, here and nowhere else: the MCP and GenAI conventions of
// OpenTelemetry (repository semantic-conventions-genai) are in development and will move. What they
// have no word for stands under `starloom.`; payloads and raw principals stand nowhere.

import { ERRORS, type ErrorCode } from '@starloom/core';

export const SERVICE = { name: 'service.name', version: 'service.version' } as const;
export const SCOPE_NAME = 'starloom.gateway';

export const ATTRIBUTE = {
  method: 'mcp.method.name',
  protocolVersion: 'mcp.protocol.version',
  requestId: 'jsonrpc.request.id',
  statusCode: 'rpc.response.status_code',
  errorType: 'error.type',
  operation: 'gen_ai.operation.name',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  networkTransport: 'network.transport',
  transport: 'starloom.transport',
  face: 'starloom.face',
  rpcMethod: 'rpc.method',
  principal: 'starloom.principal.hash',
  capability: 'starloom.capability',
  depth: 'starloom.hop.depth',
  stream: 'starloom.stream',
  events: 'starloom.events',
  firstEventMs: 'starloom.first_event_ms',
  attempts: 'starloom.attempts',
  fallback: 'starloom.fallback',
  fallbackIndex: 'starloom.fallback.index',
  node: 'starloom.node.id',
  protocol: 'starloom.agent.protocol',
  breaker: 'starloom.breaker.state',
  errorCode: 'starloom.error.code',
} as const;

export type Attributes = Record<string, string | number | boolean>;

export interface ServerSpanFacts {
  readonly transport: string;
  readonly method: string;
  readonly name: string;
  readonly protocolVersion: string | undefined;
  readonly requestId: string | number | undefined;
  readonly depth: number | undefined;
  readonly principal: string | null;
  readonly agentId: string | null;
  readonly capability: string | null;
  readonly stream: boolean;
  readonly events: number;
  readonly firstEventMs: number | null;
  readonly attempts: number;
  readonly fallback: boolean;
  readonly code: ErrorCode | null;
  /** The answer was a JSON-RPC error, not a result with `isError`. */
  readonly protocolError: boolean;
}

export interface AgentSpanFacts {
  readonly agentId: string;
  readonly nodeId: string;
  readonly protocol: string;
  readonly index: number;
  readonly breaker: string | undefined;
  readonly capability: string | null;
  readonly code: ErrorCode | null;
}

export interface RequestSpanFacts
  extends Pick<
    ServerSpanFacts,
    'transport' | 'method' | 'name' | 'requestId' | 'principal' | 'code'
  > {
  readonly face: string;
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

export function agentSpanName(agentId: string): string {
  return `invoke_agent ${agentId}`;
}

/** Whether a failure of this method is a result with `isError` rather than a JSON-RPC error. */
export function failsInResult(method: string): boolean {
  return method === TOOL_CALL;
}

export function serverAttributes(call: ServerSpanFacts): Attributes {
  const attributes: Attributes = {
    [ATTRIBUTE.method]: call.method,
    [ATTRIBUTE.networkTransport]: call.transport === 'stdio' ? 'pipe' : 'tcp',
    [ATTRIBUTE.transport]: call.transport,
    [ATTRIBUTE.stream]: call.stream,
    [ATTRIBUTE.events]: call.events,
    [ATTRIBUTE.attempts]: call.attempts,
    [ATTRIBUTE.fallback]: call.fallback,
  };
  if (call.method === TOOL_CALL) attributes[ATTRIBUTE.operation] = 'execute_tool';
  const target = TARGET_ATTRIBUTES.get(call.method);
  if (target !== undefined) attributes[target] = call.name;
  if (call.protocolVersion !== undefined) {
    attributes[ATTRIBUTE.protocolVersion] = call.protocolVersion;
  }
  if (call.requestId !== undefined) attributes[ATTRIBUTE.requestId] = String(call.requestId);
  if (call.depth !== undefined) attributes[ATTRIBUTE.depth] = call.depth;
  if (call.principal !== null) attributes[ATTRIBUTE.principal] = call.principal;
  if (call.agentId !== null) attributes[ATTRIBUTE.agentId] = call.agentId;
  if (call.capability !== null) attributes[ATTRIBUTE.capability] = call.capability;
  if (call.firstEventMs !== null) attributes[ATTRIBUTE.firstEventMs] = call.firstEventMs;
  if (call.code === null) return attributes;
  attributes[ATTRIBUTE.errorCode] = call.code;
  attributes[ATTRIBUTE.errorType] = call.protocolError ? call.code : 'tool_error';
  if (call.protocolError) attributes[ATTRIBUTE.statusCode] = String(ERRORS[call.code].rpc);
  return attributes;
}

/** Of a request that is no call of an agent. */
export function requestAttributes(request: RequestSpanFacts): Attributes {
  const { face, transport, method, name, requestId, principal, code } = request;
  const attributes: Attributes = {
    [face === 'mcp' ? ATTRIBUTE.method : ATTRIBUTE.rpcMethod]: method,
    [ATTRIBUTE.face]: face,
    [ATTRIBUTE.networkTransport]: transport === 'stdio' ? 'pipe' : 'tcp',
    [ATTRIBUTE.transport]: transport,
  };
  const target = TARGET_ATTRIBUTES.get(method);
  if (target !== undefined && name !== '') attributes[target] = name;
  if (requestId !== undefined) attributes[ATTRIBUTE.requestId] = String(requestId);
  if (principal !== null) attributes[ATTRIBUTE.principal] = principal;
  if (code === null) return attributes;
  attributes[ATTRIBUTE.errorCode] = code;
  attributes[ATTRIBUTE.errorType] = code;
  return attributes;
}

export function agentAttributes(attempt: AgentSpanFacts): Attributes {
  const attributes: Attributes = {
    [ATTRIBUTE.operation]: 'invoke_agent',
    [ATTRIBUTE.agentId]: attempt.agentId,
    [ATTRIBUTE.agentName]: attempt.agentId,
    [ATTRIBUTE.node]: attempt.nodeId,
    [ATTRIBUTE.protocol]: attempt.protocol,
    [ATTRIBUTE.fallbackIndex]: attempt.index,
  };
  if (attempt.capability !== null) attributes[ATTRIBUTE.capability] = attempt.capability;
  if (attempt.breaker !== undefined) attributes[ATTRIBUTE.breaker] = attempt.breaker;
  if (attempt.code === null) return attributes;
  attributes[ATTRIBUTE.errorType] = attempt.code;
  attributes[ATTRIBUTE.errorCode] = attempt.code;
  return attributes;
}
