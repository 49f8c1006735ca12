// The agent through the official SDK's low-level Server: one instance per HTTP request or per
// connection, both protocol eras. Handlers only translate.

import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server';
import { FabricError, toFields } from '@starloom/core';
import type { ExposedTool } from '../../core/exposed-tools.ts';
import { answerTrace, type Carriers } from '../../guard.ts';
import { failure } from '../../reasons.ts';
import type { Asking } from './mcp-approvals.ts';
import type { AgentMcpFace } from './mcp-face.ts';

interface ServerSetting {
  /** Whether the client can be notified of list changes; older clients over HTTP cannot. */
  readonly hasPush: boolean;
  /** Lower-case names; empty where there are no headers. */
  readonly headers: Readonly<Record<string, unknown>>;
}

const MAX_SHOWN_NAME = 200;

export function createServer(face: AgentMcpFace, { hasPush, headers }: ServerSetting): Server {
  const { name, version } = face.agent;
  const capabilities = {
    tools: { listChanged: hasPush },
    resources: { listChanged: hasPush },
  };
  const server = new Server({ name, version }, { capabilities });
  server.setRequestHandler('tools/list', () => ({ tools: face.tools.list().map(toDefinition) }));
  server.setRequestHandler('tools/call', async (request, context): Promise<Asking> => {
    const { name: asked, arguments: args } = request.params;
    const tool = face.tools.find(asked);
    if (!tool) {
      const unknown = failure('unknown_tool', { tool: asked.slice(0, MAX_SHOWN_NAME) });
      throw toProtocolError(unknown, { meta: context.mcpReq._meta, headers });
    }
    const { envelope = {} } = context.mcpReq;
    const declared =
      Object(envelope)[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities();
    return await face.callTool(tool, args, { context, headers, capabilities: toFields(declared) });
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
