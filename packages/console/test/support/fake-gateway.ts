// A gateway for trials of the page alone: any number of calls, at any rate, without agents. It speaks
// the API of the console as api-types.ts describes it, over the built files of the page.

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { PAGE_FOLDER } from '@starloom/console';
import type { CallRow, StreamLine } from '@starloom/console/api-types';
import { answersFor, createCalls, type FakeWorld } from './fake-answers.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};
const PAGE = 500;

export interface FakeGateway extends AsyncDisposable {
  readonly url: string;
  readonly world: FakeWorld;
  send(line: StreamLine): void;
  /** A new call on top of the list, and to every open page. */
  addCall(change?: Partial<CallRow>): CallRow;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function openFakeGateway({ calls = 200 } = {}): Promise<FakeGateway> {
  const world: FakeWorld = { calls: createCalls(calls), made: calls };
  const streams = new Set<ServerResponse>();
  const send = (line: StreamLine) => {
    for (const stream of streams) stream.write(`${JSON.stringify(line)}\n`);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://fake');
    if (!url.pathname.startsWith('/console/api/')) return servePage(url.pathname, response);
    const path = url.pathname.slice('/console/api/'.length);
    if (path === 'events') {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      streams.add(response);
      response.on('close', () => streams.delete(response));
      const hello: StreamLine = { type: 'hello', at: new Date().toISOString(), topics: [] };
      response.write(`${JSON.stringify(hello)}\n`);
      return;
    }
    const answer = path === 'calls' ? pageOf(world, url) : answersFor(world, path, url);
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    const error = { code: 'BAD_INPUT', message: `There is no ${path}`, details: {} };
    response.end(JSON.stringify(answer ?? { ok: false, error }));
  };
  let server = createServer(run);
  function run(request: IncomingMessage, response: ServerResponse): void {
    serve(request, response).catch((error) => response.destroy(error));
  }
  const listen = (port: number) =>
    new Promise<number>((resolve) => {
      server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  const port = await listen(0);
  const beat = setInterval(
    () => send({ type: 'beat', at: new Date().toISOString(), running: 2 }),
    1000,
  );
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}`,
    world,
    send,
    addCall(change = {}) {
      world.made += 1;
      const [call] = createCalls(1, world.made);
      if (call === undefined) throw new Error('no call was made');
      const added = { ...call, at: new Date().toISOString(), ...change };
      world.calls.unshift(added);
      send({ type: 'call', call: added });
      return added;
    },
    stop,
    async start() {
      server = createServer(run);
      await listen(port);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beat);
      await stop();
    },
  };
}

async function servePage(path: string, response: ServerResponse): Promise<void> {
  const name = path.slice('/console/'.length) || 'index.html';
  try {
    const body = await readFile(new URL(name.replace(/[^\w.-]/g, ''), PAGE_FOLDER));
    response.writeHead(200, {
      'content-type': TYPES[extname(name)] ?? 'text/plain',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

function pageOf(world: FakeWorld, url: URL): object {
  const from = Number(url.searchParams.get('cursor') ?? 0);
  const status = url.searchParams.get('status');
  const agent = url.searchParams.get('agent');
  const matching = world.calls.filter(
    (call) =>
      (status === null || call.status === status || call.error_code === status) &&
      (agent === null || call.agent_id === agent),
  );
  const next = from + PAGE;
  return {
    ok: true,
    running: true,
    scope: 'all',
    as_of: new Date().toISOString(),
    calls: matching.slice(from, next),
    ...(next < matching.length && { next_cursor: String(next) }),
  };
}
