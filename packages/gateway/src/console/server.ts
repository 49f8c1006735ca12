// Who may speak to the console, and what a session is over HTTP. Cookies ignore ports and come with every
// request of a browser, so a cookie alone opens nothing: each request also brings the token that only the
// page which signed in knows, and comes from that page.

import type { IncomingMessage } from 'node:http';
import type { Principal } from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import type { HttpRequest } from '../transports/routes.ts';
import { ConsoleApi, sendJson } from './api.ts';
import type { ConsoleParts } from './console.ts';
import { Page } from './page.ts';
import { parse } from './request.ts';
import { type ConsoleSession, ConsoleSessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { assertOwnPage, cookieOf, originOf, toCookie } from './web-origin.ts';

const SESSION_PATH = '/console/api/session';
/** Of a request before its sender is known. */
const MAX_VISITOR_BYTES = 8_192;

/** A person that has not signed in yet: may begin a session, and nothing else. */
const VISITOR: Principal = Object.freeze({
  id: 'console-visitor',
  mode: 'none',
  tier: 'public',
  scopes: Object.freeze([]),
  keyId: null,
});

const sessionSchema = z.union([
  z.strictObject({ code: z.string().min(1).max(256) }),
  z.strictObject({ link: z.literal(true) }),
  z.strictObject({ oauth: z.strictObject({ issuer: z.string().max(2_048) }) }),
  z.strictObject({
    oauth: z.strictObject({
      state: z.string().max(256),
      code: z.string().max(8_192),
      proof: z.string().max(256),
      iss: z.string().max(2_048).optional(),
    }),
  }),
  z.strictObject({}),
]);

export class ConsoleServer {
  readonly page: Page;
  readonly #parts: ConsoleParts;
  readonly #sessions: ConsoleSessions;
  readonly #signIn: SignIn;
  readonly #api: ConsoleApi;
  readonly #sessionOf = new WeakMap<IncomingMessage, ConsoleSession>();

  private constructor(parts: ConsoleParts, sessions: ConsoleSessions) {
    this.#parts = parts;
    this.page = new Page(parts.pageFolder);
    this.#sessions = sessions;
    this.#signIn = new SignIn(parts.gateway);
    this.#api = new ConsoleApi(parts, sessions);
  }

  static async open(parts: ConsoleParts): Promise<ConsoleServer> {
    const { authenticator, clock, observer, realm } = parts.gateway;
    const { stateFolder } = parts;
    const options = { stateFolder, authenticator, clock, log: observer.log, realm };
    return new ConsoleServer(parts, await ConsoleSessions.open(options));
  }

  async authenticate(
    request: IncomingMessage,
    url: URL,
    byHeaders: () => Principal | Promise<Principal>,
  ): Promise<Principal> {
    const { headers, method } = request;
    if (url.pathname === SESSION_PATH && method === 'POST') {
      assertOwnPage(request);
      if (headers.authorization !== undefined || headers['x-agent-passport'] !== undefined) {
        return await byHeaders();
      }
      const isBounded = headers['transfer-encoding'] === undefined;
      if (isBounded && Number(headers['content-length'] ?? 0) <= MAX_VISITOR_BYTES) return VISITOR;
      throw failure('body_too_large', { limit: MAX_VISITOR_BYTES, fix: undefined });
    }
    const [token] = [headers['x-starloom-csrf']].flat();
    const session = await this.#sessions.find(cookieOf(request), token);
    if (!session) throw failure('console_session');
    assertOwnPage(request);
    if (!session.hasToken(token)) throw failure('console_token');
    this.#sessionOf.set(request, session);
    return session.principal;
  }

  async serve(exchange: HttpRequest): Promise<void> {
    const { request, response, url } = exchange;
    const isSession = url.pathname === SESSION_PATH;
    if (isSession && request.method === 'POST') return await this.#begin(exchange);
    const session = this.#sessionOf.get(request);
    if (!session) throw failure('console_session');
    if (!isSession || request.method !== 'DELETE') return await this.#api.serve(exchange, session);
    await this.#sessions.end(session.id);
    response.setHeader('set-cookie', toCookie(request, '', 0));
    sendJson(response, { ok: true, running: true });
  }

  createCode(principal: Principal) {
    return this.#sessions.createCode(principal);
  }

  async close(): Promise<void> {
    this.#api.close();
    await this.#signIn.close();
    await this.#sessions.close();
  }

  async #begin(exchange: HttpRequest): Promise<void> {
    const { request, response, principal, body } = exchange;
    const asked = parse(sessionSchema, body ?? {}, 'the session');
    if ('oauth' in asked && 'issuer' in asked.oauth) {
      const started = await this.#signIn.start(asked.oauth.issuer, originOf(request));
      return sendJson(response, { ok: true, ...started });
    }
    const known = await this.#identify(asked, principal);
    if ('link' in asked) {
      const { code, expiresAt } = await this.createCode(known);
      const expires_at = new Date(expiresAt).toISOString();
      return sendJson(response, { ok: true, code, expires_at });
    }
    const { cookie, csrf, expiresAt } = await this.#sessions.start(known, cookieOf(request));
    const { clock } = this.#parts.pipeline.deps;
    const seconds = Math.max(0, Math.floor((expiresAt - clock.now()) / 1_000));
    response.setHeader('set-cookie', toCookie(request, cookie, seconds));
    const { log } = this.#parts.gateway.observer;
    log.info({ mode: known.mode, key_id: known.keyId }, 'a person signed in to the console');
    sendJson(response, {
      ok: true,
      csrf,
      principal: known.id,
      scopes: known.scopes,
      expires_at: new Date(expiresAt).toISOString(),
    });
  }

  async #identify(asked: z.output<typeof sessionSchema>, by: Principal): Promise<Principal> {
    if (by !== VISITOR) return by;
    if ('code' in asked) return await this.#sessions.redeem(asked.code);
    if ('oauth' in asked && 'state' in asked.oauth) return await this.#signIn.finish(asked.oauth);
    throw failure('console_sign_in', { sign_in: { oauth: this.#signIn.issuers } });
  }
}
