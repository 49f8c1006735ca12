// The Agent Communication Protocol 0.2.0: a list of agents, and runs that stream.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { CARD, draw, greetingOf, say } from '../greeting.ts';
import { beginStream, sendEvent, sendJson, serve } from '../serve.ts';

interface Part {
  readonly content_type: string;
  readonly content: string;
  readonly name?: string;
}

interface RunRequest {
  readonly session_id?: string;
  readonly input: readonly { readonly parts: readonly Part[] }[];
}

const ROLE = 'agent/greet';
const AGENT = {
  name: 'greet',
  description: 'Greets',
  input_content_types: ['text/plain'],
  output_content_types: ['text/plain', CARD.mediaType],
};

await serve(() => async (request, response) => {
  switch (`${request.method} ${request.url?.split('?')[0]}`) {
    case 'GET /ping':
      return sendJson(response, 200, {});
    case 'GET /agents':
      return sendJson(response, 200, { agents: [AGENT] });
    case 'POST /runs':
      return await run(request, response);
    default:
      return sendJson(response, 404, { code: 'not_found', message: 'Not found' });
  }
});

async function run(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { session_id = randomUUID(), input } = (await json(request)) as RunRequest;
  const run_id = randomUUID();
  const document = { run_id, session_id, agent_name: 'greet', output: [] as object[] };
  const sendRun = (status: string) => {
    sendEvent(response, { type: `run.${status}`, run: { ...document, status } });
  };
  beginStream(response, { 'run-id': run_id });
  sendRun('created');
  sendRun('in-progress');
  sendEvent(response, { type: 'message.created', message: { role: ROLE, parts: [] } });
  const parts: Part[] = [];
  for await (const part of partsFor(input[0]?.parts[0]?.content ?? '')) {
    parts.push(part);
    sendEvent(response, { type: 'message.part', part });
  }
  const message = { role: ROLE, parts };
  sendEvent(response, { type: 'message.completed', message });
  document.output.push(message);
  sendRun('completed');
  response.end();
}

async function* partsFor(name: string): AsyncGenerator<Part, void, undefined> {
  const greeting = greetingOf(name, 'the Agent Communication Protocol');
  for await (const content of say(greeting)) yield { content_type: 'text/plain', content };
  yield { name: CARD.name, content_type: CARD.mediaType, content: draw(greeting) };
}
