// The MCP server of both MCP agents. Progress notifications carry its events to the gateway.

import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { CARD, draw, greetingOf, say } from '../greeting.ts';

export function createGreeter(protocol: string): McpServer {
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  const about = { description: 'Greets', inputSchema: z.object({ task: z.string() }) };
  server.registerTool('greet', about, async ({ task }, { mcpReq }) => {
    const greeting = greetingOf(task, protocol);
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const send = async (type: string, data: object) => {
      if (progressToken === undefined) return;
      progress += 1;
      const _meta = { 'io.starloom/event': { type, data } };
      const params = { progressToken, progress, _meta };
      await mcpReq.notify({ method: 'notifications/progress', params });
    };
    for await (const text of say(greeting)) await send('token', { text });
    const { name, mediaType: media_type } = CARD;
    await send('artifact', { id: 'card', name, media_type, text: draw(greeting), last: true });
    return { content: [{ type: 'text', text: greeting }] };
  });
  return server;
}
