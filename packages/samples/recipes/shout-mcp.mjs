import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'shouter', version: '1.0.0' });
  const description = 'Says it louder';
  const inputSchema = z.object({ task: z.string() });
  server.registerTool('shout', { description, inputSchema }, async ({ task }, { mcpReq }) => {
    const words = task.toUpperCase().split(/(?<=\s)/);
    const progressToken = mcpReq._meta?.progressToken;
    for (const [index, text] of words.entries()) {
      mcpReq.signal.throwIfAborted();
      if (progressToken === undefined) continue;
      const _meta = { 'io.starloom/event': { type: 'token', data: { text } } };
      const params = { progressToken, progress: index + 1, message: text, _meta };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return { content: [{ type: 'text', text: words.join('') }] };
  });
  return server;
});
