// The two calls that are measured, as the revision 2026-07-28 or an older one writes them, and the
// words by which an answer is known to be right. Every target gets the same bytes but for the name of
// the tool.

export type CallKind = 'unary' | 'stream';

/** Which call, and in which revision: the current one, or an older one that most clients speak. */
export interface CallForm {
  readonly kind: CallKind;
  readonly revision?: '2025';
}

export interface HttpCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Texts that a right answer holds, in any order. */
  readonly holds: readonly string[];
  /** Of streams: the text by which the agent's first event is known. */
  readonly firstEvent?: string;
}

export const PROTOCOL_VERSION = '2026-07-28';
export const OLDER_VERSION = '2025-11-25';
export const AGENT_ID = 'bench';
export const TOOL_OF_KIND = { unary: 'echo', stream: 'count' } as const;
/** Of the tools that an upstream has besides. */
export function toolName(index: number): string {
  return `tool_${String(index).padStart(5, '0')}`;
}

export const ANSWER = 'starloom-bench-'.padEnd(64, '0123456789');
export const PROGRESS_TOKEN = 'bench-progress';
export const STREAM_EVENTS = 20;
export const STREAM_EVENT_GAP_MS = 5;

const ARGUMENTS = { text: 'What does the gateway cost?' };

/** What the upstream says in its nth event, from 1 on. */
export function eventMessage(number: number): string {
  return `step ${number} of ${STREAM_EVENTS}`;
}

/** The upstream's own tool, as `direct` and `bare` call it. */
export function upstreamCall(form: CallForm): HttpCall {
  return toCall(form, TOOL_OF_KIND[form.kind], ARGUMENTS);
}

/** The same capability as a tool of the gateway. */
export function capabilityCall(form: CallForm, agentId: string = AGENT_ID): HttpCall {
  return toCall(form, `${agentId}.${TOOL_OF_KIND[form.kind]}`, ARGUMENTS);
}

export function fabricCall(form: CallForm): HttpCall {
  const target = { agent_id: AGENT_ID, capability: TOOL_OF_KIND[form.kind] };
  const stream = form.kind === 'stream';
  return toCall(form, 'fabric.call', { ...target, arguments: ARGUMENTS, stream });
}

export function listToolsCall(revision?: CallForm['revision']): HttpCall {
  const toList = revision ? toOlderRequest : toRequest;
  return { ...toList('tools/list', {}, {}), holds: [TOOL_OF_KIND.unary] };
}

/** The handshake of an older client. */
export function initializeBody(): string {
  const clientInfo = { name: 'starloom-bench', version: '0' };
  const params = { protocolVersion: OLDER_VERSION, capabilities: {}, clientInfo };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
}

export const INITIALIZED_BODY = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

export const OLDER_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': OLDER_VERSION,
} as const;

function toCall({ kind, revision }: CallForm, name: string, toolArguments: object): HttpCall {
  const meta = kind === 'stream' ? { progressToken: PROGRESS_TOKEN } : {};
  const params = { name, arguments: toolArguments };
  const call = revision ? toOlderRequest('tools/call', params, meta) : toCurrentCall(params, meta);
  if (kind === 'unary') return { ...call, holds: [ANSWER] };
  const firstEvent = eventMessage(1);
  return { ...call, holds: [ANSWER, firstEvent, eventMessage(STREAM_EVENTS)], firstEvent };
}

function toCurrentCall(params: { readonly name: string }, meta: object) {
  const { headers, body } = toRequest('tools/call', { ...params }, meta);
  return { headers: { ...headers, 'mcp-name': params.name }, body };
}

function toOlderRequest(method: string, params: object, _meta: object) {
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return { headers: OLDER_HEADERS, body: JSON.stringify(body) };
}

function toRequest(method: string, params: Readonly<Record<string, unknown>>, meta: object) {
  const _meta = {
    ...meta,
    'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'starloom-bench', version: '0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL_VERSION,
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  };
}
