// The cheapest MCP agent there can be: no SDK, no checks. What a call through a gateway costs must
// not drown in what the agent costs.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  ANSWER,
  eventMessage,
  PROTOCOL_VERSION,
  STREAM_EVENT_GAP_MS,
  STREAM_EVENTS,
  TOOL_OF_KIND,
  toolName,
} from '../mcp-call.ts';
import { announce } from './announce.ts';

interface Request {
  /** Notifications have none. */
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly protocolVersion?: string;
    readonly _meta?: { readonly progressToken?: number | string };
  };
}

const COMPLETE = { resultType: 'complete' };
const CACHING = { ttlMs: 3_600_000, cacheScope: 'public' };
const INPUT_SCHEMA = { type: 'object', properties: { text: { type: 'string' } } };
const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': {
    ...COMPLETE,
    ...CACHING,
    supportedVersions: [PROTOCOL_VERSION],
    capabilities: { tools: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bench-upstream', version: '0' } },
  },
  ping: {},
  'tools/call': { ...COMPLETE, content: [{ type: 'text', text: ANSWER }] },
};

/** By what the address asks for, as text: a list costs what its bytes cost. */
const lists = new Map<string, string>();

await announce(createServer(serve));

function serve(request: IncomingMessage, response: ServerResponse): void {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { search } = new URL(request.url ?? '/', 'http://localhost');
  request.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString()), search, response));
}

function answer({ id, method, params }: Request, search: string, response: ServerResponse): void {
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = resultOf(method, params, search);
  const error = JSON.stringify({ code: -32601, message: 'Method not found' });
  const rest = result ? `"result":${result}` : `"error":${error}`;
  const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}`;
  if (params?.name === TOOL_OF_KIND.stream) {
    stream(params._meta?.progressToken, message, response);
  } else {
    const length = Buffer.byteLength(message);
    const headers = { 'content-type': 'application/json', 'content-length': length };
    response.writeHead(result ? 200 : 404, headers).end(message);
  }
}

function resultOf(method: string, params: Request['params'], search: string): string | undefined {
  if (method === 'tools/list') return listOf(search);
  if (method === 'initialize') return welcome(params?.protocolVersion);
  return JSON.stringify(RESULTS[method]);
}

/** Every older revision is right. */
function welcome(protocolVersion: string | undefined): string {
  const serverInfo = { name: 'bench-upstream', version: '0' };
  return JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo });
}

/** As many `tools` as are asked for, and padding up to so many `bytes`. */
function listOf(search: string): string {
  const stored = lists.get(search);
  if (stored !== undefined) return stored;
  const wanted = new URLSearchParams(search);
  const more = Array.from({ length: Number(wanted.get('tools')) }, (_, index) => toolName(index));
  const names = [...more, ...Object.values(TOOL_OF_KIND)];
  const tools = names.map((name) => ({ name, inputSchema: INPUT_SCHEMA }));
  const list = { ...COMPLETE, ...CACHING, tools };
  const padding = Number(wanted.get('bytes')) - JSON.stringify(list).length;
  const text = JSON.stringify(padding > 0 ? { ...list, padding: ' '.repeat(padding) } : list);
  lists.set(search, text);
  return text;
}

/** Without a token nobody wants to know the progress; the answer takes as long. */
function stream(
  progressToken: number | string | undefined,
  last: string,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let sent = 0;
  const send = () => {
    sent += 1;
    const params = { progressToken, progress: sent, message: eventMessage(sent) };
    const event = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params });
    if (progressToken !== undefined) response.write(`event: message\ndata: ${event}\n\n`);
    if (sent < STREAM_EVENTS) return;
    clearInterval(timer);
    response.end(`event: message\ndata: ${last}\n\n`);
  };
  const timer = setInterval(send, STREAM_EVENT_GAP_MS);
  response.once('close', () => clearInterval(timer));
  send();
}
