// The agent behind the A2A suites: an MCP server, so that whatever passes is the gateway's doing. What
// it does is decided by the id of the message, as the official suite writes them.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  acceptedContent,
  type CallToolResult,
  createMcpHandler,
  type InputRequiredResult,
  inputRequired,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ManifestInput } from '@starloom/core';
import { z } from 'zod';
import { text } from '../conformance/fixture-tool.ts';
import { form } from '../conformance/questions.ts';

export interface A2aAgent extends AsyncDisposable {
  readonly manifest: ManifestInput;
}

type Act = (context: ServerContext) => Promise<CallToolResult | InputRequiredResult>;
type Artifact = Readonly<Record<string, unknown>>;

/** Longer than any suite waits before it subscribes. */
const LONG_MS = 4_000;
const FILE = { name: 'output.txt', media_type: 'text/plain' };
const REPLY = z.object({ text: z.string() });
const NOTHING: CallToolResult = { content: [] };

export async function startA2aAgent(agentId = 'tck'): Promise<A2aAgent> {
  const handler = createMcpHandler(createAgent);
  const serve = toNodeHandler(handler);
  const server = createServer((request, response) => {
    void serve(request as Parameters<typeof serve>[0], response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    manifest: {
      agent_id: agentId,
      description: 'Does what the id of the message says',
      version: '1.0.0',
      endpoint: { transport: 'http', uri: `http://127.0.0.1:${port}/mcp` },
      // It is asked for files of any kind, and the gateway passes on only what an agent declares.
      capabilities: [{ name: 'work', modalities: ['text', 'file'] }],
      trust_tier: 'org',
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await handler.close();
      server.closeAllConnections();
    },
  };
}

function createAgent(): Server {
  const server = new Server(
    { name: 'a2a-agent', version: '1.0.0' },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'work', description: 'Works on anything', inputSchema: { type: 'object' } }],
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const about = params.arguments?.['io.starloom/a2a'] as { message_id?: string };
    return act(about?.message_id ?? '')(context);
  });
  return server;
}

/** By the beginning of the id; the first that fits. */
const ACTS: readonly (readonly [string, Act])[] = [
  ['tck-artifact-file-url', makes({ ...FILE, uri: 'https://example.com/output.txt' })],
  ['tck-artifact-file', makes({ ...FILE, data: btoa('tck') })],
  ['tck-artifact-text', makes({ media_type: 'text/plain', text: 'Generated text content' })],
  [
    'tck-artifact-data',
    makes({ media_type: 'application/json', text: '{"key":"value","count":42}' }),
  ],
  ['tck-stream-artifact-file', makes({ ...FILE, data: btoa('tck') })],
  [
    'tck-stream-artifact-chunked',
    makes(
      { media_type: 'text/plain', text: 'chunk-1 ' },
      { media_type: 'text/plain', text: 'chunk-2', append: true, last: true },
    ),
  ],
  ['tck-stream', makes({ media_type: 'text/plain', text: 'Stream hello from TCK' })],
  ['tck-message-response', async () => asMessage('Direct message response')],
  ['tck-input-required', ask],
  ['tck-reject-task', async () => ({ ...text('rejected'), isError: true })],
  ['test-resubscribe-message-id', works],
];

function act(messageId: string): Act {
  const found = ACTS.find(([prefix]) => messageId.startsWith(prefix));
  return found?.[1] ?? (async () => text('Hello from TCK'));
}

function makes(...pieces: readonly Artifact[]): Act {
  return async (context) => {
    for (const [at, piece] of pieces.entries()) {
      await tell(context, at + 1, { type: 'artifact', data: { id: 'output', ...piece } });
    }
    return NOTHING;
  };
}

function asMessage(said: string): CallToolResult {
  return { ...text(said), _meta: { 'io.starloom/reply': 'message' } };
}

/** Asks until something is said that is not just for the record. */
async function ask({ mcpReq }: ServerContext) {
  const reply = acceptedContent(mcpReq.inputResponses, 'reply', REPLY);
  if (reply && !reply.text.startsWith('TCK history')) return text(`done: ${reply.text}`);
  return inputRequired({ inputRequests: { reply: form('Go on?', { text: { type: 'string' } }) } });
}

async function works(context: ServerContext) {
  await tell(context, 1, { type: 'progress', data: { message: 'working' } });
  await pause(LONG_MS, undefined, { signal: context.mcpReq.signal });
  return text('done');
}

/** An event of ours, for a gateway that asked for progress. */
async function tell({ mcpReq }: ServerContext, progress: number, event: unknown): Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return;
  const _meta = { 'io.starloom/event': event };
  const params = { progressToken, progress, _meta };
  await mcpReq.notify({ method: 'notifications/progress', params } as never);
}
