// The agent through the official SDK's low-level Server: one instance per HTTP request or per
// connection, both protocol eras. Handlers only translate.

import {
  type CallToolResult,
  ProtocolError,
  ResourceNotFoundError,
  Server,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import { answerTrace, type Carriers } from '../../guard.ts';
import type { ExposedTool } from './exposed-tools.ts';
import type { AgentMcpFace, ListKind } from './mcp-face.ts';

export interface ServerSetting {
  /** Can the server notify the client that a list has changed? Not an older one over HTTP. */
  readonly hasPush: boolean;
  /** Lower-case names; empty where there are no headers. */
  readonly headers: Readonly<Record<string, unknown>>;
}

export function createServer(face: AgentMcpFace, { hasPush, headers }: ServerSetting): Server {
  const { name, version } = face.agent;
  const capabilities = {
    tools: { listChanged: hasPush },
    resources: { listChanged: hasPush },
  };
  const server = new Server({ name, version }, { capabilities });
  server.setRequestHandler('tools/list', () => ({ tools: face.tools.list().map(toDefinition) }));
  server.setRequestHandler('tools/call', (request, context): Promise<CallToolResult> => {
    const { name: asked, arguments: args } = request.params;
    const tool = face.tools.find(asked);
    if (!tool) throw toProtocolError(unknownTool(asked), { meta: context.mcpReq._meta, headers });
    return face.callTool(tool, args, { context, headers });
  });
  server.setRequestHandler('resources/list', async () => ({
    resources: await face.resources.list(),
  }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', async ({ params }, { mcpReq }) => {
    const content = await face.resources.read(params.uri).catch((error: unknown) => {
      throw toProtocolError(FabricError.from(error), { meta: mcpReq._meta, headers });
    });
    if (!content) throw new ResourceNotFoundError(params.uri);
    return { contents: [content] };
  });
  return server;
}

function toDefinition({ listedName: name, description, parameters }: ExposedTool) {
  return { name, description, inputSchema: { ...parameters, type: 'object' as const } };
}

/** A refusal as a JSON-RPC error whose data is the canonical payload. */
function toProtocolError(error: FabricError, carriers: Carriers): ProtocolError {
  const payload = error.toPayload(answerTrace(carriers));
  return new ProtocolError(error.row.rpc, error.message, payload);
}

function unknownTool(asked: string): FabricError {
  const tool = asked.slice(0, 200);
  return new FabricError('BAD_INPUT', `There is no tool ${JSON.stringify(tool)}`, {
    details: { reason: 'unknown_tool', tool, fix: 'tools/list shows them' },
  });
}

/** To a client with a connection of its own; one that is gone need not know. */
export function tellList(server: Server, kind: ListKind): void {
  const sent = kind === 'tools' ? server.sendToolListChanged() : server.sendResourceListChanged();
  sent.catch(() => {});
}

/** To those who subscribed over HTTP. */
export function tellSubscribers(notifier: ServerNotifier, kind: ListKind): void {
  if (kind === 'tools') notifier.toolsChanged();
  else notifier.resourcesChanged();
}
