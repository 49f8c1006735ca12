// The agent of the conformance tests: an MCP server that has every fixture the official suite asks
// for, in both protocol eras and without sessions. Tested directly it shows what such a server can
// pass at all, tested through the gateway what the gateway loses.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerNotifier,
  type Tool,
} from '@modelcontextprotocol/server';
import { askingTools } from './asking-tools.ts';
import { contentTools } from './content-tools.ts';
import type { FixtureTool } from './fixture-tool.ts';
import { inputRequiredTools, requestState } from './input-required.ts';
import { notifyingTools } from './notifying-tools.ts';
import { getPrompt, prompts } from './prompts.ts';
import { readResource, resources, resourceTemplates } from './resources.ts';
import { taskTools } from './task-tools.ts';

export interface ConformanceAgent extends AsyncDisposable {
  readonly url: string;
  readonly tools: readonly Tool[];
}

export async function startConformanceAgent(): Promise<ConformanceAgent> {
  const notifier = (): ServerNotifier => handler.notify;
  const tools = [
    ...contentTools,
    ...notifyingTools(notifier),
    ...askingTools,
    ...inputRequiredTools,
    ...taskTools,
  ];
  const handler = createMcpHandler(() => createAgent(tools));
  const serve = toNodeHandler(handler);
  const isOurHost = localhostHostValidation();
  const isOurOrigin = localhostOriginValidation();
  const server = createServer((request, response) => {
    if (!isOurHost(request, response) || !isOurOrigin(request, response)) return;
    void serve(request as Parameters<typeof serve>[0], response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    tools: tools.map(({ definition }) => definition),
    [Symbol.asyncDispose]: async () => {
      server.close();
      await handler.close();
      server.closeAllConnections();
    },
  };
}

function createAgent(tools: readonly FixtureTool[]): Server {
  const server = new Server(
    { name: 'conformance-agent', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
      requestState,
    },
  );
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ definition }) => definition),
  }));
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = byName.get(params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool');
    return tool.call(params.arguments ?? {}, context);
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...resources] }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...resourceTemplates],
  }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri));
  server.setRequestHandler('prompts/list', () => ({ prompts: [...prompts] }));
  server.setRequestHandler('prompts/get', ({ params }, context) =>
    getPrompt(params.name, params.arguments ?? {}, context),
  );
  server.setRequestHandler('completion/complete', () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  return server;
}
