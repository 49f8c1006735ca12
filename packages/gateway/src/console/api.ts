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
  readonly segments: readonly string[];
  readonly methods: Map<string, Handler>;
}

export class ConsoleApi {
  readonly #parts: ConsoleParts;
  readonly #facts: CallFacts | undefined;
  readonly #streams: EventStreams;
  readonly #paths: readonly Path[];

  constructor(parts: ConsoleParts, sessions: ConsoleSessions) {
    this.#parts = parts;
    this.#facts = factsOf(parts);
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

  /** The first path that fits: names come before `:names` in the table. */
  #find(method: string, pathname: string): Pick<ConsoleRequest, 'params'> & { handler: Handler } {
    const asked = pathname.slice(API_ROOT.length).split('/');
    for (const { segments, methods } of this.#paths) {
      const params = match(segments, asked);
      if (!params) continue;
      const handler = methods.get(method);
      if (handler) return { handler, params };
      throw failure('method_not_allowed', { allow: [...methods.keys()].join(', ') });
    }
    throw failure('not_found', { path: pathname.slice(0, 100), fix: undefined });
  }
}

function factsOf({ gateway, pipeline }: ConsoleParts): CallFacts | undefined {
  const { journal } = gateway;
  const { log, clock } = pipeline.deps;
  return journal && new CallFacts({ journal, log, now: () => clock.now() });
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

function toPaths(handlers: Handlers): readonly Path[] {
  const paths = new Map<string, Path>();
  for (const [key, handler] of Object.entries(handlers)) {
    const [method = '', path = ''] = key.split(' ');
    const known = paths.get(path) ?? { segments: path.split('/'), methods: new Map() };
    known.methods.set(method, handler);
    paths.set(path, known);
  }
  const named = ({ segments }: Path) => segments.findIndex((segment) => segment.startsWith(':'));
  const rank = (path: Path) => (named(path) === -1 ? Number.POSITIVE_INFINITY : named(path));
  return [...paths.values()].sort((one, other) => rank(other) - rank(one));
}

function match(
  segments: readonly string[],
  asked: readonly string[],
): Record<string, string> | undefined {
  if (segments.length !== asked.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const given = asked[index] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== given) return undefined;
      continue;
    }
    const text = decode(given);
    if (text === undefined || text === '') return undefined;
    params[segment.slice(1)] = text;
  }
  return params;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
