// An agent that takes long: twelve steps, one after the other, streamed as progress. Its capability is
// idempotent: it keeps what it has found under the idempotency key, and goes on from there when the
// same call comes again.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export const STEPS = [
  ...['question', 'sources', 'history', 'terms', 'methods', 'data'],
  ...['numbers', 'objections', 'examples', 'limits', 'outlook', 'summary'],
];
const STEP_MS = 250;

export interface Researcher extends AsyncDisposable {
  readonly url: string;
  /** How often each step was done. */
  readonly done: ReadonlyMap<string, number>;
  readonly calls: number;
}

export async function startResearcher(): Promise<Researcher> {
  const found = new Map<string, string[]>();
  const done = new Map<string, number>();
  let calls = 0;
  const work = async (key: string, response: ServerResponse) => {
    const report = found.get(key) ?? [];
    found.set(key, report);
    for (const [index, step] of STEPS.entries()) {
      if (report[index] === undefined) {
        await delay(STEP_MS);
        // The gateway is gone: the next call goes on here.
        if (response.destroyed) return;
        done.set(step, (done.get(step) ?? 0) + 1);
        report[index] = `${index + 1}. What the ${step} say`;
      }
      const percent = ((index + 1) / STEPS.length) * 100;
      send(response, 'progress', { percent, message: step });
    }
    send(response, 'final', { answer: report.join('\n') });
    response.end();
  };
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(200).end();
    let text = '';
    for await (const chunk of request) text += chunk;
    calls += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await work(String(JSON.parse(text).idempotency_key), response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    done,
    get calls() {
      return calls;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function send(response: ServerResponse, event: string, data: object): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
