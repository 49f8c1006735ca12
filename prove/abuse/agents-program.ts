// Serves the agents of a run: the ordinary ones, or all hostile ones. Prints its port when it listens.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '@starloom/core';
import { answerMcp } from './hostile-mcp.ts';
import { post, readCalled, toolCall } from './http-client.ts';
import { giveWay } from './machine-load.ts';

/** With which key `looper` calls back; its task is the address of the gateway. */
const { CALLBACK_KEY = '' } = process.env;
const WAIT_MS = 4_000;
const TOKEN = 'event: token\ndata: {"text":"and on "}\n\n'.repeat(64);

type Serve = (work: Work, response: ServerResponse) => Promise<void> | void;

interface Work {
  readonly capability: string;
  readonly task: string;
}

const AGENTS: Readonly<Record<string, Serve>> = {
  good: async ({ capability, task }, response) => {
    if (capability === 'wait') await delay(WAIT_MS);
    sendJson(response, { answer: task });
  },
  slow: async (_, response) => {
    await delay(WAIT_MS);
    sendJson(response, { answer: 'late' });
  },
  tokens: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = () => response.destroyed || response.write(TOKEN, () => setImmediate(more));
    more();
  },
  looper: async ({ task }, response) => {
    const args = { agent_id: 'looper', capability: 'loop', task };
    const body = toolCall('fabric.call', args);
    const called = readCalled(await post(task, { key: CALLBACK_KEY, body }));
    const below = called?.ok ? Number(called.result?.answer) : 0;
    sendJson(response, { answer: String(below + 1) });
  },
};

if (process.argv[2] === 'hostile') giveWay();

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});
// A gateway that was slow for a while must not meet a connection that was closed meanwhile.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = ''] = (request.url ?? '').split('/');
  if (request.method !== 'POST') return void response.writeHead(405).end();
  let text = '';
  for await (const chunk of request) text += chunk;
  if (name === 'mcp') return await serveCall(JSON.parse(text), response);
  const own = AGENTS[name];
  if (!own) return sendJson(response, answerMcp(name, JSON.parse(text)));
  const { target, input } = JSON.parse(text) as Envelope;
  await own({ capability: target.capability, task: input.task }, response);
}

/** A `fabric.call` that came by the bare proxy: the agent that it names answers without a gateway. */
async function serveCall(body: ProxiedCall, response: ServerResponse): Promise<void> {
  const { agent_id = '', capability = '', task = '' } = body.params?.arguments ?? {};
  const own = AGENTS[agent_id];
  if (own) return await own({ capability, task }, response);
  sendJson(response, answerMcp(agent_id, { id: 1, method: 'tools/call' }));
}

interface ProxiedCall {
  readonly params?: {
    readonly arguments?: { agent_id?: string; capability?: string; task?: string };
  };
}

function sendJson(response: ServerResponse, value: unknown): void {
  if (value === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
