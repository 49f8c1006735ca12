import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Seen {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: {
    readonly id?: string;
    readonly configuration?: { readonly acceptedOutputModes: readonly string[] };
    readonly message: {
      readonly taskId?: string;
      readonly contextId?: string;
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly parts: readonly { readonly text?: string }[];
    };
  };
}

type Item = Readonly<Record<string, unknown>>;
export type Behaviour = (seen: Seen, reply: Reply) => unknown;
export type Behaviours = Readonly<Record<string, Behaviour>>;
export type CardFacts = (base: string) => Item;

interface Reply {
  /** The one answer of a request. */
  answer(result: Item): void;
  /** Items of a stream, which stays open. */
  items(...results: readonly Item[]): void;
  readonly response: ServerResponse;
}

/** A peer that does what a test says, by method; the methods are those of A2A 1.0. */
export async function openFakePeer(behaviours: Behaviours, card: CardFacts = () => ({})) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ ...cardOf(base), ...card(base) }));
    }
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const one = { method: body.method, headers: request.headers, params: body.params };
    seen.push(one);
    const wrap = (result: Item) => JSON.stringify({ jsonrpc: '2.0', id: body.id, result });
    const behaviour = behaviours[body.method];
    if (!behaviour) return response.writeHead(500).end();
    behaviour(one, {
      response,
      answer: (result) => response.setHeader('content-type', 'application/json').end(wrap(result)),
      items: (...results) => {
        if (!response.headersSent) {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
        }
        for (const result of results) response.write(`data: ${wrap(result)}\n\n`);
      },
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { base, seen };
}

function cardOf(url: string): Item {
  return {
    name: 'fake',
    description: 'A peer of a test',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    skills: [{ id: 'work', name: 'work', description: 'Works' }],
  };
}

export function task(id: string, state: string, more: Item = {}): Item {
  return { task: { id, contextId: 'c1', status: statusOf(state), ...more } };
}

export function update(taskId: string, state: string, text?: string): Item {
  return { statusUpdate: { taskId, contextId: 'c1', status: statusOf(state, text) } };
}

export function piece(taskId: string, text: string, append = false): Item {
  const artifact = { artifactId: 'a1', parts: [{ text }] };
  return { artifactUpdate: { taskId, contextId: 'c1', artifact, append } };
}

function statusOf(state: string, text?: string): Item {
  const parts = [{ text }];
  const message = { messageId: `m-${state}`, role: 'ROLE_AGENT', parts };
  return { state: `TASK_STATE_${state}`, ...(text !== undefined && { message }) };
}
