// A model API on a port of this machine: real sockets, the wire shape of the real service, answers
// from a script. It refuses what the real services refuse, and remembers what it was asked.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  FakeCall,
  FakeFailure,
  FakeGarbage,
  FakeMessage,
  FakePart,
  FakeReply,
  FakeScript,
  FakeService,
  FakeTool,
} from '@starloom/sdk/testing';
import { anthropic } from './anthropic.ts';
import {
  type FakeApi,
  type FakeSpeech,
  type FakeSseEvent,
  type FakeStoreRequest,
  type Json,
  optional,
  record,
  type ServedRequest,
  text,
  toSpeech,
} from './fake-api.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

export const FAKE_APIS = {
  gemini,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
} as const satisfies Record<string, FakeApi>;

export type FakeApiName = keyof typeof FAKE_APIS;

export interface FakeModelOptions {
  readonly api: FakeApiName;
  readonly script: FakeScript;
  /** Requests that carry another key, or none, are refused with 401. */
  readonly key?: string;
}

export interface FakeModel extends FakeService, AsyncDisposable {
  /** What to give a client as base URL. */
  readonly baseUrl: string;
  readonly requests: readonly ServedRequest[];
  /** What was kept, renewed and deleted, where the API keeps parts of questions. */
  readonly storeRequests: readonly FakeStoreRequest[];
  /** Drops everything that is kept, as the service does after its time. */
  dropStored(): void;
}

export async function startFakeModel({ api, script, key }: FakeModelOptions): Promise<FakeModel> {
  const requests: ServedRequest[] = [];
  const storeRequests: FakeStoreRequest[] = [];
  const shape: FakeApi = FAKE_APIS[api];
  const stored = new Map<string, Json>();
  const server = createServer((request, response) => {
    const answering = async () => {
      const given = await readBody(shape, request, key);
      if ('status' in given) return refuse(shape, response, given);
      const { method = '', url: path = '' } = request;
      if (shape.stored?.path.test(path)) {
        storeRequests.push({ method, path, body: given.body });
        return serveStore(shape, response, storeRequests, stored);
      }
      const asked = readRequest(shape, request, response, given.body, stored);
      if ('status' in asked) return refuse(shape, response, asked);
      const index = requests.push(asked) - 1;
      const fault = findFault(asked);
      if (fault !== undefined) return refuse(shape, response, { status: 400, message: fault });
      const reply = await replyTo(script, asked, index);
      await answer(shape, response, asked, reply);
    };
    answering().catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else refuse(shape, response, { status: 500, message: String(error) });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const baseUrl = `http://127.0.0.1:${port}${shape.basePath}`;
  const dropStored = () => stored.clear();
  return { baseUrl, requests, storeRequests, dropStored, close, [Symbol.asyncDispose]: close };
}

async function readBody(
  api: FakeApi,
  request: IncomingMessage,
  key: string | undefined,
): Promise<{ readonly body: Json } | FakeFailure> {
  const { method, url: path = '', headers } = request;
  if (![api.path, api.stored?.path].some((known) => known?.test(path))) {
    return { status: 404, message: `There is no ${path}` };
  }
  const sent = await readText(request);
  const body = method === 'DELETE' && sent === '' ? {} : parseBody(sent);
  if (body === undefined) return { status: 400, message: 'The body is no JSON object' };
  if (key !== undefined && text(headers[api.keyHeader]).replace(/^Bearer /i, '') !== key) {
    return { status: 401, message: 'The key is not known' };
  }
  return { body };
}

function serveStore(
  api: FakeApi,
  response: ServerResponse,
  requests: readonly FakeStoreRequest[],
  stored: Map<string, Json>,
): void {
  const { method, path, body } = requests.at(-1) ?? { method: '', path: '', body: {} };
  const name = text(api.stored?.path.exec(path)?.groups?.id);
  if (method !== 'POST' && !stored.has(name)) {
    refuse(api, response, { status: 403, message: `There is no ${name}` });
    return;
  }
  const id = method === 'POST' ? `${name}/${requests.length}` : name;
  if (method === 'POST') stored.set(id, body);
  if (method === 'DELETE') stored.delete(id);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(method === 'DELETE' ? {} : { name: id }));
}

/** The body with what is kept for it; a question may not have both. */
function withStored(api: FakeApi, body: Json, stored: ReadonlyMap<string, Json>) {
  const { field = '' } = api.stored ?? {};
  const id = text(body[field]);
  if (id === '') return body;
  const kept = stored.get(id);
  if (!kept) return { status: 403, message: `There is no ${id}` };
  const { ttl: _, ...parts } = kept;
  const twice = Object.keys(parts).find((key) => key in body);
  return twice === undefined
    ? { ...parts, ...body }
    : { status: 400, message: `${twice} cannot be sent with ${field}` };
}

function readRequest(
  api: FakeApi,
  request: IncomingMessage,
  response: ServerResponse,
  body: Json,
  stored: ReadonlyMap<string, Json>,
): ServedRequest | FakeFailure {
  const { url: path = '', headers } = request;
  const ended = new Promise<'answered' | 'left'>((resolve) => {
    response.once('close', () => resolve(response.writableFinished ? 'answered' : 'left'));
  });
  const { model = text(body.model), method = '' } = api.path.exec(path)?.groups ?? {};
  const whole = withStored(api, body, stored);
  if (isFailure(whole)) return whole;
  const { system, messages, tools } = api.readQuestion(whole);
  return {
    path,
    headers,
    body,
    model,
    stream: body.stream === true || method.startsWith('stream'),
    system: system.map(text).filter(Boolean).join('\n'),
    messages: gather(messages),
    tools: tools.map(({ name, description, parameters }) => {
      return { name: text(name), ...optional('description', description), parameters };
    }),
    ended,
  };
}

function isFailure(value: Json | FakeFailure): value is FakeFailure {
  return typeof value.status === 'number';
}

/** Neighbouring messages of one role as one. */
function gather(messages: readonly FakeMessage[]): FakeMessage[] {
  const gathered: FakeMessage[] = [];
  for (const message of messages) {
    const last = gathered.at(-1);
    if (last?.role !== message.role) gathered.push(message);
    else gathered[gathered.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
  }
  return gathered;
}

function parseBody(text: string): Json | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function replyTo(
  script: FakeScript,
  asked: ServedRequest,
  index: number,
): Promise<FakeReply> {
  if (typeof script === 'function') return script(asked, index);
  const message = `The script has ${script.length} replies, and this is request ${index + 1}`;
  return script[index] ?? { status: 500, message };
}

async function answer(
  api: FakeApi,
  response: ServerResponse,
  { model, stream, tools }: ServedRequest,
  reply: FakeReply,
): Promise<void> {
  if (typeof reply === 'object' && 'status' in reply) return refuse(api, response, reply);
  if (typeof reply === 'object' && 'garbage' in reply) return babble(response, reply, stream);
  const speech = spellCalls(toSpeech(reply), tools);
  if (stream) await sendStream(api, response, speech, model);
  else sendBody(api, response, speech, model);
}

function refuse(api: FakeApi, response: ServerResponse, failure: FakeFailure): void {
  const { status, retryAfter, message = `The fake model says ${status}` } = failure;
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  });
  response.end(JSON.stringify(api.writeError(status, message)));
}

function babble(response: ServerResponse, reply: FakeGarbage, stream: boolean): void {
  const usual = stream ? 'text/event-stream' : 'application/json';
  response.writeHead(200, { 'content-type': reply.contentType ?? usual });
  response.end(reply.garbage);
}

function sendBody(api: FakeApi, response: ServerResponse, speech: FakeSpeech, model: string): void {
  if (speech.after === 'hang') return;
  const body = JSON.stringify(api.writeBody(speech, model));
  response.writeHead(200, { 'content-type': 'application/json' });
  if (speech.after === 'finish') response.end(body);
  else if (speech.after === 'end') response.end(body.slice(0, body.length / 2));
  else response.write(body.slice(0, body.length / 2), () => response.destroy());
}

async function sendStream(
  api: FakeApi,
  response: ServerResponse,
  speech: FakeSpeech,
  model: string,
): Promise<void> {
  const { said, ending } = api.writeStream(speech, model);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const events = speech.after === 'finish' ? [...said, ...ending] : said;
  for (const event of events) await writeInTwo(response, event);
  if (speech.after === 'disconnect') response.destroy();
  else if (speech.after !== 'hang') response.end();
}

/** Cut at a byte, not at a character: readers must join what the network takes apart. */
async function writeInTwo(response: ServerResponse, { event, data }: FakeSseEvent): Promise<void> {
  const name = event === undefined ? '' : `event: ${event}\n`;
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  const bytes = Buffer.from(`${name}data: ${text}\n\n`);
  const middle = Math.floor(bytes.length / 2);
  response.write(bytes.subarray(0, middle));
  await nextTurn();
  response.write(bytes.subarray(middle));
  await nextTurn();
}

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Why the real services refuse the request with 400; `undefined` when they do not. */
function findFault({ tools, messages }: ServedRequest): string | undefined {
  const offered = tools.map(({ name }) => name);
  const called = messages.flatMap(callsOf).map(({ name }) => name);
  return findBadName([...offered, ...called]) ?? findTwin(offered) ?? findUnpaired(messages);
}

function findBadName(names: readonly string[]): string | undefined {
  const bad = names.find((name) => !TOOL_NAME.test(name));
  return bad === undefined ? undefined : `The tool name "${bad}" is not ${TOOL_NAME.source}`;
}

function findTwin(names: readonly string[]): string | undefined {
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  return twin === undefined ? undefined : `The tool "${twin}" stands twice`;
}

/** The results of an assistant's calls stand in the next message, all of them and no others. */
function findUnpaired(messages: readonly FakeMessage[]): string | undefined {
  if (messages.length === 0) return 'There is no message';
  const [first] = messages;
  const pairs = messages.map((message, index) => [message, messages[index + 1]] as const);
  const stray = first === undefined ? [] : idsOf(resultsOf(first));
  if (stray.length > 0) return `The results ${stray} follow no calls`;
  for (const [message, next] of pairs) {
    const calls = idsOf(callsOf(message)).toSorted().join();
    const results = next === undefined ? '' : idsOf(resultsOf(next)).toSorted().join();
    if (calls !== results) return `The calls [${calls}] are followed by results of [${results}]`;
  }
  return undefined;
}

function callsOf({ parts }: FakeMessage) {
  return parts.flatMap((part) => ('call' in part ? [part.call] : []));
}

function resultsOf({ parts }: FakeMessage) {
  return parts.flatMap((part) => ('result' in part ? [part.result] : []));
}

/** By position where the wire has no ids. */
function idsOf(items: readonly { readonly id?: string }[]): string[] {
  return items.map(({ id }, index) => id ?? `#${index}`);
}

/**
 * The calls of a speech by the names that the request offered: a script says `fs:read_file`, the
 * request offered `fs_read_file`. A name that was not offered stays as it is.
 */
function spellCalls(speech: FakeSpeech, tools: readonly FakeTool[]): FakeSpeech {
  const parts = speech.parts.map((part): FakePart => {
    return 'call' in part ? { call: spell(part.call, tools) } : part;
  });
  return { ...speech, parts };
}

function spell(call: FakeCall, tools: readonly FakeTool[]): FakeCall {
  const names = tools.map(({ name }) => name);
  if (names.includes(call.name)) return call;
  const alike = names.filter((name) => letters(name) === letters(call.name));
  const [name] = alike;
  return name === undefined || alike.length > 1 ? call : { ...call, name };
}

function letters(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, '');
}
