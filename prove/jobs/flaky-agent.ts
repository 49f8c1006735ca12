// The agent behind all jobs: it answers late, breaks off, fails, asks, and notes every call that reached
// it. What it noted is the truth about what ran how often.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../coordination/random.ts';
import type { Effect, Kind } from './history.ts';

interface Task {
  readonly jobId: string;
  readonly answer: string;
  readonly asks: boolean;
  readonly doneAt: number;
  answeredAt: number | undefined;
}

export class FlakyAgent implements AsyncDisposable {
  readonly url: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #random: Random;
  readonly #tasks = new Map<string, Task>();
  /** Where the effects of the current round go. */
  effects: Effect[] = [];
  #count = 0;

  static async open(random: Random): Promise<FlakyAgent> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FlakyAgent(server, random);
  }

  private constructor(server: ReturnType<typeof createServer>, random: Random) {
    this.#server = server;
    this.#random = random;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, what = '', id = '', more] = (request.url ?? '').split('/');
    const body = await readJson(request);
    if (what === 'call') return this.#call(String(body.job_id), response);
    if (what === 'task' && request.method === 'POST' && id === '') {
      const task = this.#begin(String(body.job_id), body.kind as Kind);
      // Its name may get lost on the way back.
      if (this.#random.chance(0.05)) return void response.destroy();
      return send(response, { task });
    }
    const task = this.#tasks.get(id);
    if (task === undefined) return void response.writeHead(404).end();
    if (more === 'answer') {
      this.#note(task.jobId, 'answer', String(body.content));
      task.answeredAt ??= Date.now();
      return send(response, {});
    }
    if (this.#random.chance(0.05)) return void response.destroy();
    return send(response, stateOf(task));
  }

  async #call(jobId: string, response: ServerResponse): Promise<void> {
    const answer = this.#note(jobId, 'call');
    const fate = this.#random.next();
    if (fate < 0.05) return void response.writeHead(500).end();
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const tokens = 1 + this.#random.below(8);
    for (let n = 1; n <= tokens; n += 1) {
      await delay(this.#random.below(40));
      if (response.destroyed) return;
      if (fate < 0.12 && n === tokens) return void response.destroy();
      response.write(`${JSON.stringify({ token: `${answer}/${n}` })}\n`);
    }
    if (fate > 0.97) await delay(1_500);
    response.end(`${JSON.stringify({ final: answer })}\n`);
  }

  #begin(jobId: string, kind: Kind): string {
    const id = crypto.randomUUID();
    this.#tasks.set(id, {
      jobId,
      answer: this.#note(jobId, 'call'),
      asks: kind === 'asking',
      doneAt: Date.now() + this.#random.below(600),
      answeredAt: undefined,
    });
    return id;
  }

  #note(jobId: string, kind: Effect['kind'], text?: string): string {
    this.#count += 1;
    const answer = text ?? `${jobId}#${this.#count}`;
    this.effects.push({ jobId, kind, answer });
    return answer;
  }
}

function stateOf({ asks, answeredAt, doneAt, answer }: Task) {
  if (asks && answeredAt === undefined) return { state: 'asking' };
  const due = Math.max(doneAt, answeredAt ?? 0);
  return Date.now() < due ? { state: 'running' } : { state: 'done', answer };
}

function send(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}
