// A model that costs nothing: answers in the dialects of Anthropic, OpenAI (chat and responses) and
// Gemini, as streams. What it says follows the prompt: "USE <tool> <json>." once becomes a call of that
// tool, "SLOWLY" makes it take its time; otherwise it says "pong from stub".

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface ModelServer extends AsyncDisposable {
  readonly url: string;
  /** Bodies of the requests so far. */
  readonly requests: readonly string[];
}

interface Turn {
  readonly words: readonly string[];
  readonly tool: { readonly name: string; readonly args: string } | undefined;
}

type SseEvent = readonly [name: string, data: unknown];
type Dialect = (turn: Turn, model: string) => readonly SseEvent[];

const SLOW_MS = 200;

export async function startModelServer(): Promise<ModelServer> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const body = Buffer.concat(chunks).toString();
    requests.push(body);
    const path = request.url ?? '';
    const dialect = DIALECTS.find(([pattern]) => pattern.test(path))?.[1];
    if (/count_?tokens/i.test(path)) return json(response, { input_tokens: 5, totalTokens: 5 });
    if (/\/models(\?|$)/.test(path))
      return json(response, { object: 'list', data: [{ id: 'stub' }] });
    if (!dialect) return json(response, { error: { message: `no route ${path}` } }, 404);
    const slow = body.includes('SLOWLY') ? SLOW_MS : 0;
    await stream(response, dialect(toTurn(body, slow > 0), 'stub'), slow);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function toTurn(body: string, slowly: boolean): Turn {
  const [, name = '', args = ''] = /USE ([\w.:-]+) (\{.*?\})\./.exec(body) ?? [];
  const isAnswered = /"tool_result"|"role":\s*"tool"|function_call_output|functionResponse/.test(
    body,
  );
  return {
    words: slowly
      ? Array.from({ length: 60 }, (_, at) => `word-${at} `)
      : ['pong ', 'from ', 'stub'],
    tool: name === '' || isAnswered ? undefined : { name, args: args.replace(/\\+"/g, '"') },
  };
}

const USAGE = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };

const anthropic: Dialect = ({ words, tool }, model) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [] };
  const event = (type: string, fields: object): SseEvent => [type, { type, ...fields }];
  const block = tool
    ? { type: 'tool_use', id: 'toolu_1', name: tool.name, input: {} }
    : { type: 'text', text: '' };
  const deltas = tool
    ? [{ type: 'input_json_delta', partial_json: tool.args }]
    : words.map((text) => ({ type: 'text_delta', text }));
  const stop_reason = tool ? 'tool_use' : 'end_turn';
  return [
    event('message_start', { message: { ...message, stop_reason: null, usage: USAGE } }),
    event('content_block_start', { index: 0, content_block: block }),
    ...deltas.map((delta) => event('content_block_delta', { index: 0, delta })),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: USAGE }),
    event('message_stop', {}),
  ];
};

const chat: Dialect = ({ words, tool }, model) => {
  const chunk = (delta: object, finish_reason: string | null = null): SseEvent => [
    '',
    {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason }],
    },
  ];
  const call = tool && {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: tool.name, arguments: tool.args },
  };
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(call ? [chunk({ tool_calls: [call] })] : words.map((content) => chunk({ content }))),
    chunk({}, call ? 'tool_calls' : 'stop'),
    ['', '[DONE]'],
  ];
};

const responses: Dialect = ({ words, tool }, model) => {
  const text = words.join('');
  const part = { type: 'output_text', text, annotations: [] };
  const item = tool
    ? { id: 'f1', type: 'function_call', call_id: 'call_1', name: tool.name, arguments: tool.args }
    : { id: 'm1', type: 'message', role: 'assistant', content: [part] };
  const whole = { id: 'r1', object: 'response', created_at: 1, model, usage: USAGE };
  const at = { output_index: 0 };
  const inner = { ...at, item_id: item.id, content_index: 0 };
  const body = tool
    ? []
    : [
        ['response.content_part.added', { ...inner, part: { ...part, text: '' } }] as const,
        ...words.map((delta) => ['response.output_text.delta', { ...inner, delta }] as const),
        ['response.output_text.done', { ...inner, text }] as const,
      ];
  const events: readonly (readonly [string, object])[] = [
    ['response.created', { response: { ...whole, status: 'in_progress', output: [] } }],
    ['response.output_item.added', { ...at, item: { ...item, status: 'in_progress' } }],
    ...body,
    ['response.output_item.done', { ...at, item: { ...item, status: 'completed' } }],
    ['response.completed', { response: { ...whole, status: 'completed', output: [item] } }],
  ];
  return events.map(([type, fields], sequence_number) => [
    type,
    { type, sequence_number, ...fields },
  ]);
};

const gemini: Dialect = ({ words, tool }, model) => {
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 };
  const piece = (part: object, finishReason?: string): SseEvent => {
    const content = { role: 'model', parts: [part] };
    const candidates = [{ content, index: 0, ...(finishReason && { finishReason }) }];
    return ['', { candidates, usageMetadata, modelVersion: model }];
  };
  if (tool) {
    return [piece({ functionCall: { name: tool.name, args: JSON.parse(tool.args) } }, 'STOP')];
  }
  return words.map((text, at) => piece({ text }, at === words.length - 1 ? 'STOP' : undefined));
};

const DIALECTS: readonly (readonly [RegExp, Dialect])[] = [
  [/\/messages(\?|$)/, anthropic],
  [/\/chat\/completions/, chat],
  [/\/responses(\?|$)/, responses],
  [/streamGenerateContent/, gemini],
];

async function stream(response: ServerResponse, events: readonly SseEvent[], pause: number) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) {
    if (response.destroyed) return;
    if (pause > 0) await delay(pause);
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    response.write(`${name === '' ? '' : `event: ${name}\n`}data: ${text}\n\n`);
  }
  response.end();
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
