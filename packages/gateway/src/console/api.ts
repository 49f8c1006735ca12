// `/console/api/`: a table of paths. Every request has a session and its token.

import type { ServerResponse } from 'node:http';
import { failure } from '../reasons.ts';
import type { HttpRequest } from '../transports/routes.ts';
import { addingHandlers } from './add-agent.ts';
import { agentSessionHandlers } from './agent-sessions.ts';
import { agentHandlers } from './agents.ts';
import { auditHandlers } from './audit.ts';
import { CallFacts } from './call-facts.ts';
import { callHandlers } from './calls.ts';
import type { ConsoleParts } from './console.ts';
import { EventStreams } from './events.ts';
import { inboxHandlers } from './inbox.ts';
import { jobHandlers } from './jobs.ts';
import { keyHandlers } from './keys.ts';
import { overviewHandlers } from './overview.ts';
import type { ConsoleRequest, Handler, Handlers } from './request.ts';
import type { ConsoleSession, ConsoleSessions } from './sessions.ts';
import { settingsHandlers } from './settings.ts';
import { tryHandlers } from './try.ts';

const API_ROOT = '/console/api/';
const NO_STORE = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

interface Path {
  readonly pattern: RegExp;
  readonly methods: ReadonlyMap<string, Handler>;
}

export class ConsoleApi {
  readonly #parts: ConsoleParts;
  readonly #facts: CallFacts | undefined;
  readonly #streams: EventStreams;
  readonly #paths: readonly Path[];

  constructor(parts: ConsoleParts, sessions: ConsoleSessions) {
    this.#parts = parts;
    const { log, clock } = parts.pipeline.deps;
    const { journal } = parts.gateway;
    this.#facts = journal && new CallFacts({ journal, log, now: () => clock.now() });
    this.#streams = new EventStreams(parts, sessions, this.#facts);
    this.#paths = toPaths({
      ...addingHandlers,
      ...agentHandlers,
      ...agentSessionHandlers,
      ...auditHandlers,
      ...callHandlers,
      ...keyHandlers,
      ...inboxHandlers,
      ...jobHandlers,
      ...overviewHandlers,
      ...settingsHandlers,
      ...tryHandlers,
      'GET events': (request) => this.#streams.open(request),
    });
  }

  async serve(exchange: HttpRequest, session: ConsoleSession): Promise<void> {
    const { request, response, url, body, principal } = exchange;
    const { handler, params } = this.#find(request.method ?? 'GET', url.pathname);
    const left = new AbortController();
    response.once('close', () => left.abort(failure('client_gone')));
    const answer = await handler({
      parts: this.#parts,
      session,
      principal,
      params,
      query: url.searchParams,
      body: body ?? {},
      signal: left.signal,
      exchange,
      facts: this.#facts,
    });
    if (answer) sendJson(response, { ok: true, running: true, ...answer });
  }

  close(): void {
    this.#streams.close();
    this.#facts?.close();
  }

  #find(method: string, pathname: string): Pick<ConsoleRequest, 'params'> & { handler: Handler } {
    const asked = pathname.slice(API_ROOT.length);
    const path = this.#paths.find(({ pattern }) => pattern.test(asked));
    const params = path && decoded(path.pattern.exec(asked)?.groups ?? {});
    if (!params) throw failure('not_found', { path: pathname.slice(0, 100), fix: undefined });
    const handler = path.methods.get(method);
    if (handler) return { handler, params };
    throw failure('method_not_allowed', { allow: [...path.methods.keys()].join(', ') });
  }
}

export function sendJson(response: ServerResponse, answer: object): void {
  const text = JSON.stringify(answer);
  response.writeHead(200, {
    ...NO_STORE,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** Names come before `:names`. */
function toPaths(handlers: Handlers): readonly Path[] {
  const byPath = Map.groupBy(Object.entries(handlers), ([key]) => key.replace(/^\w+ /, ''));
  const isNamed = (path: string) => Number(path.includes(':'));
  return [...byPath]
    .sort(([one], [other]) => isNamed(one) - isNamed(other))
    .map(([path, entries]) => ({
      pattern: new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
      methods: new Map(entries.map(([key, handler]) => [key.replace(/ .*/, ''), handler])),
    }));
}

function decoded(params: Readonly<Record<string, string>>): Record<string, string> | undefined {
  try {
    const pairs = Object.entries(params);
    return Object.fromEntries(pairs.map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    return undefined;
  }
}
