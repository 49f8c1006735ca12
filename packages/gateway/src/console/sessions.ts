// Sessions of people at the page, and the one-time codes that open them. Both live in one file of the state
// folder, as hashes: a copy of it opens nothing. A session stands for the credential that opened it, is
// never more than that, and ends with it. A shared key is kept by its id and its print, so that what the
// key may do now is what the session may do now. Gateways of one realm share sessions, not codes: a code
// is used up by the one gateway that made it.

import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, type Json, type Log, systemClock, trustTierSchema } from '@starloom/core';
import {
  type Authenticator,
  followFile,
  isMandated,
  LiveFile,
  type Principal,
  type SharedFile,
} from '@starloom/identity';
import { z } from 'zod';
import type { SessionRealm } from '../mcp/shared-sessions.ts';
import { failure } from '../reasons.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);

const credentialSchema = z.union([
  z.strictObject({ key_id: z.string(), print: digest }),
  z.strictObject({
    principal: z.looseObject({
      id: z.string(),
      mode: z.string(),
      tier: trustTierSchema,
      scopes: z.array(z.string()),
      keyId: z.string().nullable(),
    }),
  }),
]);

const sessionSchema = z.strictObject({
  /** Of the cookie. */
  id: digest,
  /** Of the tokens of its tabs. */
  tokens: z.array(digest),
  credential: credentialSchema,
  expires_at: z.int(),
  /** Kept until it would have expired, where others may still have it. */
  has_ended: z.literal(true).optional(),
});

const fileSchema = z.strictObject({
  version: z.literal(1),
  sessions: z.array(sessionSchema),
  codes: z.array(z.strictObject({ id: digest, credential: credentialSchema, expires_at: z.int() })),
});

type Credential = z.output<typeof credentialSchema>;
type StoredSession = z.output<typeof sessionSchema>;
type SessionsFile = z.output<typeof fileSchema>;

const EMPTY: SessionsFile = { version: 1, sessions: [], codes: [] };
const CODE_MS = 10 * 60_000;
const SESSION_MS = 7 * 24 * 3_600_000;
const MAX_SESSIONS = 256;
const MAX_CODES = 64;
/** Tabs of one browser that are signed in at once; the oldest signs in again. */
const MAX_TOKENS = 16;

export interface ConsoleSession {
  readonly id: string;
  readonly principal: Principal;
  readonly expiresAt: number;
  /** Whether this is a token of one of its tabs. */
  hasToken(token: string | undefined): boolean;
}

interface ConsoleSessionsOptions {
  readonly stateFolder: string;
  readonly authenticator: Authenticator;
  readonly realm?: SessionRealm | undefined;
  readonly clock?: Clock | undefined;
  readonly log: Log;
}

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #clock: Clock;
  readonly #file: LiveFile<SessionsFile>;
  readonly #listeners: Set<() => void>;
  #sharing: Awaited<ReturnType<typeof followFile>> | undefined;

  private constructor(
    options: ConsoleSessionsOptions,
    file: LiveFile<SessionsFile>,
    listeners: Set<() => void>,
  ) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#file = file;
    this.#listeners = listeners;
  }

  static async open(options: ConsoleSessionsOptions): Promise<ConsoleSessions> {
    const { stateFolder, log, realm } = options;
    const listeners = new Set<() => void>();
    const onChange = () => {
      for (const listener of [...listeners]) listener();
    };
    const file = await LiveFile.open({
      path: join(stateFolder, 'console.json'),
      schema: fileSchema,
      empty: EMPTY,
      fix: 'remove it: people sign in again then',
      log,
      onChange,
    });
    const sessions = new ConsoleSessions(options, file, listeners);
    if (realm?.store) {
      const shared = sharedSessions((edit) => sessions.#change(edit));
      sessions.#sharing = await followFile({ ...realm, store: realm.store }, shared, log);
    }
    return sessions;
  }

  /** Called after sessions began or ended; returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A code that opens one session for this principal. */
  async createCode(
    principal: Principal,
  ): Promise<{ readonly code: string; readonly expiresAt: number }> {
    const credential = this.#toCredential(principal);
    const code = secret();
    const expiresAt = this.#clock.now() + CODE_MS;
    await this.#change(({ codes, ...file }) => ({
      ...file,
      codes: [...codes, { id: digestOf(code), credential, expires_at: expiresAt }].slice(
        -MAX_CODES,
      ),
    }));
    return { code, expiresAt };
  }

  /** Uses the code up. AUTH_DENIED for one that is wrong, used, too old, or whose credential has ended. */
  async redeem(code: string): Promise<Principal> {
    const id = digestOf(code);
    let found: Credential | undefined;
    await this.#change(({ codes, ...file }) => {
      found = codes.find((one) => one.id === id)?.credential;
      return { ...file, codes: codes.filter((one) => one.id !== id) };
    });
    const principal = found && this.#toPrincipal(found);
    if (principal) return principal;
    throw failure('console_code');
  }

  /** A session, or another tab of the one that the browser has with the same credential. */
  async start(
    principal: Principal,
    cookie: string | undefined,
  ): Promise<{ readonly cookie: string; readonly csrf: string; readonly expiresAt: number }> {
    const credential = this.#toCredential(principal);
    const csrf = secret();
    const known = cookie === undefined ? undefined : this.#stored(cookie);
    const isSame = JSON.stringify(known?.credential) === JSON.stringify(credential);
    const kept = isSame && cookie !== undefined ? cookie : secret();
    const id = digestOf(kept);
    const expires_at = Math.min(
      this.#clock.now() + SESSION_MS,
      principal.expiresAt ?? Number.POSITIVE_INFINITY,
    );
    await this.#change(({ sessions, ...file }) => {
      const before = sessions.find((one) => one.id === id)?.tokens ?? [];
      const tokens = [...before, digestOf(csrf)].slice(-MAX_TOKENS);
      const others = sessions.filter((one) => one.id !== id);
      const all = [...others, { id, tokens, credential, expires_at }];
      return { ...file, sessions: all.slice(-MAX_SESSIONS) };
    });
    await this.#sharing?.hint();
    return { cookie: kept, csrf, expiresAt: expires_at };
  }

  /**
   * The session of a cookie, while it and its credential last. Another gateway may have begun it, or
   * signed in a tab of it, a moment ago.
   */
  async find(
    cookie: string | undefined,
    token: string | undefined,
  ): Promise<ConsoleSession | undefined> {
    if (cookie === undefined) return undefined;
    const known = this.#find(cookie);
    if (!this.#sharing || known?.hasToken(token)) return known;
    await this.#sharing.hint();
    return this.#find(cookie);
  }

  isOpen(id: string): boolean {
    const stored = this.#file.value.sessions.find((one) => one.id === id);
    return stored !== undefined && this.#toSession(stored) !== undefined;
  }

  async end(id: string): Promise<void> {
    await this.#change(({ sessions, ...file }) => ({
      ...file,
      sessions: sessions.flatMap((one): StoredSession[] => {
        if (one.id !== id) return [one];
        return this.#sharing ? [{ ...one, tokens: [], has_ended: true }] : [];
      }),
    }));
    await this.#sharing?.hint();
  }

  async close(): Promise<void> {
    await this.#sharing?.close();
    await this.#file.close();
  }

  #find(cookie: string): ConsoleSession | undefined {
    const stored = this.#stored(cookie);
    return stored && this.#toSession(stored);
  }

  #stored(cookie: string): StoredSession | undefined {
    const id = digestOf(cookie);
    return this.#file.value.sessions.find((one) => one.id === id);
  }

  #toSession(stored: StoredSession): ConsoleSession | undefined {
    const { id, tokens, credential, expires_at, has_ended } = stored;
    const isOver = has_ended || expires_at <= this.#clock.now();
    const principal = isOver ? undefined : this.#toPrincipal(credential);
    if (!principal) return undefined;
    const hasToken = (token: string | undefined) =>
      token !== undefined && tokens.includes(digestOf(token));
    return { id, principal, expiresAt: expires_at, hasToken };
  }

  /** What is over is removed with every change. */
  async #change(
    edit: (file: SessionsFile) => SessionsFile | Promise<SessionsFile>,
  ): Promise<SessionsFile> {
    const now = this.#clock.now();
    const isOver = (one: { readonly expires_at: number }) => one.expires_at <= now;
    return await this.#file.change((file) => {
      const { sessions, codes } = file;
      if (!sessions.some(isOver) && !codes.some(isOver)) return edit(file);
      const left = sessions.filter((one) => !isOver(one));
      return edit({ ...file, sessions: left, codes: codes.filter((one) => !isOver(one)) });
    });
  }

  /** POLICY_DENIED for what can open no session: it is bound to a call, a connection or no credential. */
  #toCredential(principal: Principal): Credential {
    const { mode, keyId, boundTo, delegation } = principal;
    if (mode === 'psk' && keyId !== null && !delegation) {
      const known = this.#options.authenticator.keys?.find(keyId);
      if (known) return { key_id: keyId, print: known.print };
    }
    const isLasting = mode === 'oauth' || (delegation !== undefined && !isMandated(principal));
    if (!isLasting || boundTo !== undefined) throw failure('console_credential', { mode });
    return { principal: JSON.parse(JSON.stringify(principal)) };
  }

  #toPrincipal(credential: Credential): Principal | undefined {
    const { authenticator } = this.#options;
    if ('principal' in credential) {
      const principal = credential.principal as unknown as Principal;
      return authenticator.isCurrent(principal) ? principal : undefined;
    }
    const known = authenticator.keys?.find(credential.key_id);
    const isSame = known?.print === credential.print && authenticator.isCurrent(known.principal);
    return isSame ? known.principal : undefined;
  }
}

/** Tabs of all gateways are tabs of one session; where one has ended it, it has ended. */
function sharedSessions(change: SharedFile<SessionsFile>['change']): SharedFile<SessionsFile> {
  return {
    name: 'console-sessions',
    what: 'sessions of the console',
    change,
    merge(file, shared) {
      const known = new Map(file.sessions.map((one) => [one.id, one]));
      for (const value of shared.values()) {
        const { data: theirs } = sessionSchema.safeParse(value);
        if (theirs && theirs.expires_at > Date.now()) {
          known.set(theirs.id, merged(known.get(theirs.id), theirs));
        }
      }
      const sessions = [...known.values()];
      return isDeepStrictEqual(sessions, file.sessions) ? file : { ...file, sessions };
    },
    toEntries: ({ sessions }) =>
      new Map(sessions.map((one): [string, Json] => [one.id, one as Json])),
  };
}

function merged(own: StoredSession | undefined, theirs: StoredSession): StoredSession {
  if (!own) return theirs;
  const has_ended = own.has_ended ?? theirs.has_ended;
  if (has_ended) return { ...theirs, tokens: [], has_ended };
  return { ...theirs, tokens: [...new Set([...theirs.tokens, ...own.tokens])] };
}

/** 256 bits that cannot be guessed, so that their hash is enough. */
export function secret(): string {
  return randomBytes(32).toString('base64url');
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}
