// All sessions of older clients over HTTP. Their number is bounded, per principal and in all: one more
// takes the place of the one that was not used for the longest time. One that is not used for long is
// closed. A session is known to the principal that opened it, and to no other.

import type { IncomingHttpHeaders } from 'node:http';
import { FabricError, type Log } from '@starloom/core';
import { z } from 'zod';
import type { EventBudget } from '../transports/event-log.ts';
import type { HttpRequest } from '../transports/http.ts';
import type { Connection } from './connection.ts';
import { claimedRevision, HttpSession } from './http-session.ts';
import { acceptsBoth, MODERN_REVISION } from './lean-call.ts';
import type { ListKind } from './list-changes.ts';
import type { McpFace } from './server-factory.ts';

export interface SessionLimits {
  readonly all: number;
  readonly perPrincipal: number;
  readonly idleMs: number;
}

export interface HttpSessionsOptions {
  readonly face: McpFace;
  readonly log: Log;
  readonly limits?: Partial<SessionLimits> | undefined;
}

const LIMITS: SessionLimits = { all: 4_096, perPrincipal: 512, idleMs: 30 * 60_000 };
/** Of events that clients may resume from, over all sessions. */
const KEPT_CHARACTERS = 64 * 1024 * 1024;
const MOST_SWEEP_MS = 60_000;
const RETRY_AFTER_MS = 1_000;

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
  readonly #sessions = new Map<string, HttpSession>();
  readonly #budget: EventBudget = { most: KEPT_CHARACTERS, kept: 0 };
  readonly #sweeping: NodeJS.Timeout;

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const everyMs = Math.min(this.#limits.idleMs / 2, MOST_SWEEP_MS);
    this.#sweeping = setInterval(() => this.#sweep(), everyMs).unref();
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Serves a request that names a session or begins one; `undefined` for any other. */
  serve(exchange: HttpRequest, connection: Connection): Promise<void> | undefined {
    const { request, principal, body } = exchange;
    const id = sessionIdOf(request.headers, body);
    if (id !== undefined) return this.#find(id, principal.id).serve(exchange, connection);
    if (!isHandshake(request.headers, body)) return undefined;
    return this.#open(connection).initialize(exchange, connection);
  }

  listChanged(kind: ListKind): void {
    for (const session of this.#sessions.values()) session.listChanged(kind);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.close()));
  }

  /** An unknown one and one of another principal are the same answer. */
  #find(id: string, principalId: string): HttpSession {
    const session = this.#sessions.get(id);
    if (session?.principalId === principalId && !this.#isExpired(session)) return session;
    throw unknownSession();
  }

  #open(connection: Connection): HttpSession {
    const { id } = connection.principal;
    const own = [...this.#sessions.values()].filter(({ principalId }) => principalId === id);
    const { perPrincipal, all } = this.#limits;
    if (own.length >= perPrincipal) makeRoom(own, () => tooManyOwn(perPrincipal));
    if (this.#sessions.size >= all) makeRoom([...this.#sessions.values()], () => tooMany(all));
    const session = new HttpSession(connection, {
      ...this.#options,
      budget: this.#budget,
      onClosed: (closed) => this.#sessions.delete(closed.id),
    });
    this.#sessions.set(session.id, session);
    return session;
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

/** Closes the one that was not used for the longest time; throws when all are in use. */
function makeRoom(sessions: readonly HttpSession[], refusal: () => FabricError): void {
  let oldest: HttpSession | undefined;
  for (const session of sessions) {
    if (session.isBusy || (oldest && oldest.idleMs >= session.idleMs)) continue;
    oldest = session;
  }
  if (!oldest) throw refusal();
  void oldest.close();
}

function unknownSession(): FabricError {
  return new FabricError('BAD_INPUT', 'There is no such session', {
    details: {
      reason: 'unknown_session',
      http_status: 404,
      fix: 'Send initialize without Mcp-Session-Id to begin another session',
    },
  });
}

function tooManyOwn(allowed: number): FabricError {
  return new FabricError('RATE_LIMITED', 'This principal has too many sessions in use', {
    details: {
      reason: 'too_many_sessions',
      allowed,
      retry_after_ms: RETRY_AFTER_MS,
      fix: 'End sessions by DELETE, or close their streams',
    },
  });
}

function tooMany(allowed: number): FabricError {
  return new FabricError('OVERLOADED', 'Too many sessions are in use', {
    details: { reason: 'too_many_sessions', allowed, fix: 'Try again later' },
  });
}
