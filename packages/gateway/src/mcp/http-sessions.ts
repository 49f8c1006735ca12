// All sessions of older clients over HTTP. Their number is bounded, per principal and in all: one more
// takes the place of the one that was not used for the longest time. One that is not used for long is
// closed. A session is known to the principal that opened it, and to no other. In a realm one that began at
// another gateway, or was closed here to make room, is taken up when its client comes.

import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { FabricError, Log } from '@starloom/core';
import type { ListKind } from '@starloom/mcp-client/server';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import type { EventBudget } from '../transports/event-log.ts';
import type { HttpRequest } from '../transports/routes.ts';
import type { Connection } from './connection.ts';
import { claimedRevision, HttpSession } from './http-session.ts';
import { acceptsBoth } from './lean-lane.ts';
import type { McpFace } from './server-factory.ts';
import {
  type HandshakeParams,
  type SessionRealm,
  type SessionStart,
  SharedSessions,
} from './shared-sessions.ts';
import { MODERN_REVISION } from './to-caller.ts';

export interface SessionLimits {
  readonly all: number;
  readonly perPrincipal: number;
  readonly idleMs: number;
}

interface HttpSessionsOptions {
  readonly face: McpFace;
  readonly log: Log;
  readonly limits?: Partial<SessionLimits> | undefined;
  readonly realm?: SessionRealm | undefined;
}

const LIMITS: SessionLimits = { all: 4_096, perPrincipal: 512, idleMs: 30 * 60_000 };
/** Of events that clients may resume from, over all sessions. */
const KEPT_CHARACTERS = 64 * 1024 * 1024;
const MAX_SWEEP_MS = 60_000;

/** Revisions before 2025-03-26 had no sessions over this transport. */
const initializeSchema = z.looseObject({
  method: z.literal('initialize'),
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    protocolVersion: z.string().regex(/^(?!2024-)/),
    capabilities: z.looseObject({}),
    clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
  }),
});

export class HttpSessions {
  readonly #options: HttpSessionsOptions;
  readonly #limits: SessionLimits;
  /** The one that was not used for the longest time comes first. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #byPrincipal = new Map<string, Set<HttpSession>>();
  /** Sessions of other gateways that are being taken up. */
  readonly #adopting = new Map<string, Promise<HttpSession>>();
  readonly #shared: SharedSessions | undefined;
  readonly #budget: EventBudget = { most: KEPT_CHARACTERS, kept: 0 };
  readonly #sweeping: NodeJS.Timeout;

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const everyMs = Math.min(this.#limits.idleMs / 2, MAX_SWEEP_MS);
    this.#sweeping = setInterval(() => this.#sweep(), everyMs).unref();
    this.#shared = options.realm && this.#share(options.realm);
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Serves a request that names a session or begins one; `undefined` for any other. */
  serve(exchange: HttpRequest, connection: Connection): Promise<void> | undefined {
    const { request, principal, body } = exchange;
    const id = sessionIdOf(request.headers, body);
    if (id !== undefined) {
      const known = this.#adopting.has(id) ? undefined : this.#find(id, principal.id);
      if (known) return known.serve(exchange, connection);
      return this.#adopt(id, connection).then((session) => session.serve(exchange, connection));
    }
    if (!isHandshake(request.headers, body)) return undefined;
    const { params } = body as { params: HandshakeParams };
    const named = this.#shared?.seal(principal.id, params) ?? { id: randomUUID() };
    return this.#open(connection, named).initialize(exchange, connection);
  }

  listChanged(kind: ListKind): void {
    for (const session of this.#sessions.values()) session.listChanged(kind);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#shared?.close();
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.close()));
  }

  /** An unknown one and one of another principal are the same answer. */
  #find(id: string, principalId: string): HttpSession | undefined {
    const session = this.#sessions.get(id);
    const isOwn = session?.principalId === principalId;
    if (isOwn && !this.#isExpired(session)) return session;
    if (!this.#shared || (session && !isOwn)) throw failure('unknown_session');
    // It may have been used at other gateways meanwhile.
    void session?.close();
    return undefined;
  }

  /** Requests that come at once take it up once. */
  #adopt(id: string, connection: Connection): Promise<HttpSession> {
    const known = this.#adopting.get(id);
    const start = this.#shared?.open(id, connection.principal.id);
    if (!start) return Promise.reject(failure('unknown_session'));
    if (known) return known;
    const adopting = this.#takeUp(id, start, connection).finally(() => this.#adopting.delete(id));
    this.#adopting.set(id, adopting);
    return adopting;
  }

  async #takeUp(
    id: string,
    { nonce, params }: SessionStart,
    connection: Connection,
  ): Promise<HttpSession> {
    const state = await this.#shared?.stateOf(nonce);
    if (!state || state.isClosed) throw failure('unknown_session');
    const session = this.#open(connection, { id, nonce });
    try {
      await session.adopt(params, state);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  #share(realm: SessionRealm): SharedSessions {
    const find = (nonce: string) =>
      this.#sessions.values().find((session) => session.nonce === nonce);
    return new SharedSessions(realm, this.#options.log, {
      onMessage: (nonce, message) => find(nonce)?.receive(message as unknown as JSONRPCMessage),
      onState: (nonce, state) => void find(nonce)?.follow(state),
      onResume: (nonce, eventId, response) => {
        const session = find(nonce);
        if (!session) throw failure('unknown_session');
        session.resume(eventId, response);
      },
      open: () => this.#sessions.values().map(({ nonce }) => nonce),
    });
  }

  #open(connection: Connection, named: { id: string; nonce?: string }): HttpSession {
    const own = this.#byPrincipal.get(connection.principal.id);
    const { perPrincipal, all } = this.#limits;
    if (own && own.size >= perPrincipal)
      makeRoom(own, () => failure('too_many_sessions/own', { allowed: perPrincipal }));
    if (this.#sessions.size >= all)
      makeRoom(this.#sessions.values(), () => failure('too_many_sessions', { allowed: all }));
    const session = new HttpSession(connection, {
      ...this.#options,
      ...named,
      shared: named.nonce === undefined ? undefined : this.#shared,
      budget: this.#budget,
      onUsed: (used) => {
        if (this.#remove(used)) this.#add(used);
      },
      onClosed: (closed) => this.#remove(closed),
    });
    this.#add(session);
    return session;
  }

  #add(session: HttpSession): void {
    const { id, principalId } = session;
    this.#sessions.set(id, session);
    const own = this.#byPrincipal.get(principalId);
    if (own) own.add(session);
    else this.#byPrincipal.set(principalId, new Set([session]));
  }

  /** False when it was not there. */
  #remove(session: HttpSession): boolean {
    const { id, principalId } = session;
    const own = this.#byPrincipal.get(principalId);
    if (own?.delete(session) && own.size === 0) this.#byPrincipal.delete(principalId);
    return this.#sessions.delete(id);
  }

  #sweep(): void {
    for (const session of this.#sessions.values()) {
      if (this.#isExpired(session)) void session.close();
    }
  }

  #isExpired(session: HttpSession): boolean {
    return session.idleMs > this.#limits.idleMs;
  }
}

/** The current revision has no sessions: what it says of them is passed over. */
function sessionIdOf(headers: IncomingHttpHeaders, body: unknown): string | undefined {
  const id = headers['mcp-session-id'];
  const named = headers['mcp-protocol-version'] ?? claimedRevision(body);
  return typeof id === 'string' && named !== MODERN_REVISION ? id : undefined;
}

function isHandshake(headers: IncomingHttpHeaders, body: unknown): boolean {
  const { method } = (body ?? {}) as { method?: unknown };
  if (method !== 'initialize' || headers['mcp-protocol-version'] === MODERN_REVISION) return false;
  return acceptsBoth(headers) && initializeSchema.safeParse(body).success;
}

/** Closes the first that is not in use; throws when all are. */
function makeRoom(sessions: Iterable<HttpSession>, refusal: () => FabricError): void {
  for (const session of sessions) if (!session.isBusy) return void session.close();
  throw refusal();
}
