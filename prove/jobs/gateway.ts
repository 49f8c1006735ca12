// A gateway of the campaign: an engine, a runner and what clients may ask, as the product has them.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  FabricError,
  type JobEngine,
  type JobEvent,
  type NewJob,
  type StoredJob,
} from '@starloom/core';
import { JobDesk, JobRunner, toJobDocument } from '@starloom/jobs';
import type { Door, DoorJob } from './door.ts';
import { Refused } from './door.ts';
import type { StreamItem } from './history.ts';
import { cancelTask, runCall } from './run-call.ts';

export const PRINCIPAL = 'prover';

export interface GatewayOptions {
  readonly engine: JobEngine;
  readonly leaseMs: number;
}

export function createRunner({ engine, leaseMs }: GatewayOptions): JobRunner {
  return new JobRunner({
    engine,
    run: runCall,
    cancelUpstream: cancelTask,
    leaseMs,
    pollMs: 100,
    cancelGraceMs: 1_000,
    perAgent: 64,
  });
}

/** Straight to the engine, without a wire between. */
export function openLocalDoor(engine: JobEngine): Door {
  const desk = new JobDesk(engine);
  const refuse = (error: unknown): never => {
    const { code, details } = FabricError.from(error);
    throw new Refused(code, details.reason as string | undefined);
  };
  const toDoor = (job: StoredJob) => toJobDocument(job) as unknown as DoorJob;
  return {
    submit: async (job) => toDoor((await desk.submit(job).catch(refuse)).job),
    status: async (id) => toDoor(await desk.status(PRINCIPAL, id).catch(refuse)),
    cancel: async (id) => toDoor(await desk.cancel(PRINCIPAL, id).catch(refuse)),
    answer: async (id, answers) => toDoor(await desk.input(PRINCIPAL, id, answers).catch(refuse)),
    async *stream(id, after, signal) {
      for await (const { cursor, event } of desk.stream(PRINCIPAL, id, { after, signal })) {
        yield toItem(cursor, event);
      }
    },
  };
}

/** The same over HTTP. */
export function serveDoor(door: Door) {
  return createServer((request, response) => {
    serve(door, request, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy();
      const { code, reason } =
        error instanceof Refused ? error : { code: 'INTERNAL', reason: String(error) };
      response.writeHead(200).end(JSON.stringify({ code, reason }));
    });
  });
}

async function serve(
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, what = '', id = '', after = '0'] = (request.url ?? '').split('/');
  if (what === 'stream') return serveStream(door, id, Number(after), response);
  let text = '';
  for await (const chunk of request) text += chunk;
  const body = text === '' ? {} : JSON.parse(text);
  const asked: Readonly<Record<string, () => Promise<DoorJob>>> = {
    submit: () => door.submit(body as NewJob),
    status: () => door.status(id),
    cancel: () => door.cancel(id),
    answer: () => door.answer(id, body.answers),
  };
  const job = await (asked[what]?.() ?? Promise.reject(new Refused('BAD_INPUT', 'unknown')));
  response.writeHead(200).end(JSON.stringify(job));
}

async function serveStream(
  door: Door,
  id: string,
  after: number,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  response.flushHeaders();
  for await (const item of door.stream(id, after, gone.signal)) {
    response.write(`${JSON.stringify(item)}\n`);
  }
  response.end('{"end":true}\n');
}

export function toItem(cursor: number, event: JobEvent): StreamItem {
  const { seq } = event;
  switch (event.type) {
    case 'token':
      return { cursor, seq, type: 'token', text: event.data.text };
    case 'final':
      return { cursor, seq, type: 'final', text: event.data.answer };
    case 'status':
      return { cursor, seq, type: event.data.state, text: '' };
    case 'error':
      return { cursor, seq, type: 'error', text: event.error.code };
    default:
      return { cursor, seq, type: event.type, text: JSON.stringify(event.data) };
  }
}
