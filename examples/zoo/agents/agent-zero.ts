// Agent Zero's own HTTP interface: the answer comes as one text, and a log tells how it came about.
// It hands over no files.

import { randomUUID } from 'node:crypto';
import { json } from 'node:stream/consumers';
import { greetingOf, say } from '../greeting.ts';
import { sendJson, serve } from '../serve.ts';

const { AGENT_ZERO_TOKEN } = process.env;
const logs = new Map<string, object[]>();

await serve(() => async (request, response) => {
  if (request.method === 'GET') return void response.end();
  if (!AGENT_ZERO_TOKEN || request.headers['x-api-key'] !== AGENT_ZERO_TOKEN) {
    return void response.writeHead(401).end('Invalid API key');
  }
  const given = (await json(request)) as { message?: string; context_id?: string };
  const { message = '', context_id = randomUUID() } = given;
  switch (request.url) {
    case '/api/api_message':
      return sendJson(response, 200, { context_id, response: await work(context_id, message) });
    case '/api/api_log_get': {
      const items = logs.get(context_id);
      if (!items) return sendJson(response, 404, { error: 'Context not found' });
      return sendJson(response, 200, { context_id, log: { total_items: items.length, items } });
    }
    default:
      return void response.writeHead(404).end();
  }
});

async function work(chat: string, message: string): Promise<string> {
  const items = logs.get(chat) ?? [];
  logs.set(chat, items);
  const log = (entry: object) => items.push({ no: items.length, ...entry });
  log({ type: 'user', content: message });
  log({ type: 'agent', heading: 'icon://psychology A0: Thinks of a greeting' });
  const tool_args = { name: message };
  const tool = { type: 'tool', kvps: { tool_name: 'greeting', tool_args }, content: '' };
  log(tool);
  for await (const word of say(greetingOf(message, 'Agent Zero'))) tool.content += word;
  items[items.length - 1] = { no: items.length - 1, ...tool };
  log({ type: 'response', content: tool.content });
  return tool.content;
}
