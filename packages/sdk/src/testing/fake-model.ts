// A model API on a port of this machine: real sockets, the wire shape of the real service, answers
// from a script. It refuses what the real services refuse, and remembers what it was asked.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { anthropic } from './apis/anthropic.ts';
import { gemini } from './apis/gemini.ts';
import { openaiChat } from './apis/openai-chat.ts';
import { openaiResponses } from './apis/openai-responses.ts';
import type { FakeApi, FakeSseEvent } from './fake-api.ts';
import { type FakeQuestion, type FakeRequest, record } from './fake-request.ts';
import {
  type FakeFailure,
  type FakeGarbage,
  type FakeReply,
  type FakeScript,
  type FakeSpeech,
  toSpeech,
} from './fake-script.ts';
import { findFault } from './find-fault.ts';
import { spellCalls } from './spell-calls.ts';

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

export interface FakeModel extends AsyncDisposable {
  /** What to give a client as base URL. */
  readonly baseUrl: string;
  /** Everything that was asked in the shape of the API, oldest first. */
  readonly requests: readonly FakeRequest[];
  /** Cuts every connection. */
  close(): Promise<void>;
}

export async function startFakeModel({ api, script, key }: FakeModelOptions): Promise<FakeModel> {
  const requests: FakeRequest[] = [];
  const shape: FakeApi = FAKE_APIS[api];
  const server = createServer((request, response) => {
    const answering = async () => {
      const asked = await readRequest(shape, request, response, key);
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
  return { baseUrl, requests, close, [Symbol.asyncDispose]: close };
}

async function readRequest(
  api: FakeApi,
  request: IncomingMessage,
  response: ServerResponse,
  key: string | undefined,
): Promise<FakeRequest | FakeFailure> {
  const { url: path = '', headers } = request;
  const ended = new Promise<'answered' | 'left'>((resolve) => {
    response.once('close', () => resolve(response.writableFinished ? 'answered' : 'left'));
  });
  const body = parseBody(await readText(request));
  const question = api.readQuestion(path, body ?? {});
  if (question === undefined) return { status: 404, message: `There is no ${path}` };
  if (body === undefined) return { status: 400, message: 'The body is no JSON object' };
  if (key !== undefined && api.readKey(headers) !== key) {
    return { status: 401, message: 'The key is not known' };
  }
  return { path, headers, body, ...question, ended };
}

function parseBody(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function replyTo(script: FakeScript, asked: FakeRequest, index: number): Promise<FakeReply> {
  if (typeof script === 'function') return script(asked, index);
  const message = `The script has ${script.length} replies, and this is request ${index + 1}`;
  return script[index] ?? { status: 500, message };
}

async function answer(
  api: FakeApi,
  response: ServerResponse,
  { model, stream, tools }: FakeQuestion,
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
