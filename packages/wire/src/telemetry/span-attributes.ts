// Names of attributes of spans, here and nowhere else: the MCP and GenAI conventions of OpenTelemetry
// (repository semantic-conventions-genai) are in development and will move. What they have no word for
// stands under `starloom.`; payloads and raw principals stand nowhere.

import type { Attributes } from './telemetry.ts';

export const ATTRIBUTE = {
  method: 'mcp.method.name',
  protocolVersion: 'mcp.protocol.version',
  requestId: 'jsonrpc.request.id',
  statusCode: 'rpc.response.status_code',
  rpcMethod: 'rpc.method',
  networkTransport: 'network.transport',
  errorType: 'error.type',
  operation: 'gen_ai.operation.name',
  tool: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  prompt: 'gen_ai.prompt.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  conversation: 'gen_ai.conversation.id',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  transport: 'starloom.transport',
  face: 'starloom.face',
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
  jobId: 'starloom.job.id',
  jobAttempt: 'starloom.job.attempt',
  jobMode: 'starloom.job.mode',
  origin: 'starloom.tool.origin',
  purpose: 'starloom.model.purpose',
} as const;

/** Without what is not known. */
export function knownAttributes(
  facts: Readonly<Record<string, Attributes[string] | null | undefined>>,
): Attributes {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given) as Attributes;
}
