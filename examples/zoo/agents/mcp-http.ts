// MCP over HTTP, by the official SDK.

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serve } from '../serve.ts';
import { createGreeter } from './mcp-server.ts';

const handle = toNodeHandler(createMcpHandler(() => createGreeter('MCP over HTTP')));
await serve(() => (request, response) => {
  void handle(request as Parameters<typeof handle>[0], response);
});
