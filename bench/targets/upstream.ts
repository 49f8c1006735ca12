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
} from '../mcp-call.ts';
import { announce } from './announce.ts';

interface Request {
  readonly id: number | string;
  readonly method: string;
  readonly params: { readonly name?: string; readonly _meta: { progressToken?: number | string } };
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
  'tools/list': {
    ...COMPLETE,
    ...CACHING,
    tools: Object.values(TOOL_OF_KIND).map((name) => ({ name, inputSchema: INPUT_SCHEMA })),
  },
  'tools/call': { ...COMPLETE, content: [{ type: 'text', text: ANSWER }] },
};

await announce(createServer(serve));

function serve(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString()), response));
}

function answer({ id, method, params }: Request, response: ServerResponse): void {
  const result = RESULTS[method];
  const error = { code: -32601, message: 'Method not found' };
  const message = JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) });
  if (params.name === TOOL_OF_KIND.stream) {
    stream(params._meta, message, response);
  } else {
    const length = Buffer.byteLength(message);
    const headers = { 'content-type': 'application/json', 'content-length': length };
    response.writeHead(result ? 200 : 404, headers).end(message);
  }
}

function stream(
  { progressToken }: Request['params']['_meta'],
  last: string,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let sent = 0;
  const send = () => {
    sent += 1;
    const params = { progressToken, progress: sent, message: eventMessage(sent) };
    const event = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params });
    response.write(`event: message\ndata: ${event}\n\n`);
    if (sent < STREAM_EVENTS) return;
    clearInterval(timer);
    response.end(`event: message\ndata: ${last}\n\n`);
  };
  const timer = setInterval(send, STREAM_EVENT_GAP_MS);
  response.once('close', () => clearInterval(timer));
  send();
}
