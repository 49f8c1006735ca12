// Sessions of older clients at all gateways of a realm. The id of a session is what began it, sealed with
// the secret of the realm, so any gateway can begin it again. What belongs to an open exchange goes through
// the shared store to the gateway that holds it: answers to questions, cancellations, the rest of a stream,
// and the end of the session. Without the store, or after that gateway died, the next request is served.

import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { FabricError, type Json, type Log } from '@starloom/core';
import { type RealmStore, StoreReach } from '@starloom/identity';
import { deriveKey, Seal, SSE_HEADERS } from '@starloom/wire';
import { z } from 'zod';

export interface SessionRealm {
  readonly secret: Uint8Array;
  /** Without it sessions are good everywhere, but open exchanges are not. */
  readonly store?: RealmStore | undefined;
}

/** The handshake that began a session. */
export interface SessionStart {
  /** Names the session among gateways. */
  readonly nonce: string;
  readonly principalId: string;
  readonly params: HandshakeParams;
}

export interface HandshakeParams {
  readonly protocolVersion: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly clientInfo: { readonly name: string; readonly version: string };
}

const stateSchema = z.object({
  isClosed: z.boolean().default(false),
  level: z.string().optional(),
  /** Resources whose changes the client wants to hear of. */
  uris: z.array(z.string()).default([]),
});

/** What a client said in a session that every gateway must know. */
export type SessionState = z.output<typeof stateSchema>;

/** One message between gateways. */
type Relayed =
  | { readonly kind: 'message'; readonly session: string; readonly message: Json }
  | { readonly kind: 'state'; readonly session: string }
  | {
      readonly kind: 'resume';
      readonly session: string;
      readonly channel: string;
      readonly eventId: string;
    }
  | {
      readonly kind: 'rest';
      readonly channel: string;
      readonly text?: string;
      readonly is?: 'end' | 'unknown';
    }
  | { readonly kind: 'leave'; readonly channel: string };

type Addressed = Relayed & { readonly from: string; readonly to?: string | undefined };

/** What this gateway does with messages of others. */
interface SessionHandlers {
  /** Of a session that is open here; `state` is undefined when it must be read. */
  onMessage(nonce: string, message: Json): void;
  onState(nonce: string, state: SessionState): void;
  /** Continues a stream of this gateway; throws when the event is not known. */
  onResume(nonce: string, eventId: string, response: ServerResponse): void;
  /** Names of the sessions that are open here. */
  open(): Iterable<string>;
}

const NAME = 'mcp';
const VERSION = 's1';
const LOOK_MS = 1_000;
/** A session that no gateway knows any more is good for so long after it began. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** Ids travel in a header of every request. */
const MAX_ID_LENGTH = 3_000;
const MAX_EVENTS = 200;
const MAX_URIS = 256;
const ATTEMPTS = 10;
/** How long another gateway may take to continue a stream. */
const ANSWER_MS = 2_000;
/** What a client that reads slowly may leave here of a stream that comes from another gateway. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** What the gateway asks clients, if they can answer. */
const ASKED = ['elicitation', 'sampling', 'roots'];

export class SharedSessions {
  /** Of this process, in the ids of its questions and events. */
  readonly tag = randomBytes(4).toString('hex');
  readonly #store: RealmStore | undefined;
  readonly #handlers: SessionHandlers;
  readonly #ids: Seal;
  readonly #words: Seal;
  readonly #reach: StoreReach;
  /** Streams of other gateways that clients read here. */
  readonly #reading = new Map<string, { take(rest: Relayed & { kind: 'rest' }): void }>();
  /** Streams of this gateway that clients read elsewhere. */
  readonly #sending = new Map<string, RelayedResponse>();
  readonly #looking: NodeJS.Timeout | undefined;
  #unwatch: (() => Promise<void>) | undefined;
  #cursor: number | undefined;
  #isHinted = false;
  #pulling: Promise<void> | undefined;

  constructor({ secret, store }: SessionRealm, log: Log, handlers: SessionHandlers) {
    this.#store = store;
    this.#handlers = handlers;
    this.#ids = new Seal(deriveKey(secret, 'starloom mcp sessions'));
    this.#words = new Seal(deriveKey(secret, 'starloom mcp relay'));
    this.#reach = new StoreReach(log, {
      away: 'answers and cancellations of older clients reach this gateway alone until the store is back',
      back: 'answers and cancellations of older clients reach all gateways again',
    });
    if (!store) return;
    this.#looking = setInterval(() => void this.#hint(), LOOK_MS).unref();
    void this.#hint();
  }

  /** The id of a session that begins; `undefined` when the handshake is too long for a header. */
  seal(principalId: string, given: HandshakeParams): { id: string; nonce: string } | undefined {
    const nonce = randomUUID();
    const { protocolVersion, capabilities, clientInfo } = given;
    const name = clientInfo.name.slice(0, 200);
    const version = clientInfo.version.slice(0, 100);
    const asked = Object.entries(capabilities).filter(([key]) => ASKED.includes(key));
    for (const declared of [capabilities, Object.fromEntries(asked)]) {
      const params = { protocolVersion, capabilities: declared, clientInfo: { name, version } };
      const start = { nonce, principalId, params, until: Date.now() + KEEP_MS };
      const id = `${VERSION}.${this.#ids.seal(JSON.stringify(start))}`;
      if (id.length <= MAX_ID_LENGTH) return { id, nonce };
    }
    return undefined;
  }

  /** `undefined` for an id that is unknown, too old or of another principal. */
  open(id: string, principalId: string): SessionStart | undefined {
    const [version, text = ''] = id.split('.');
    const opened = version === VERSION ? this.#ids.open(text) : undefined;
    if (opened === undefined) return undefined;
    const start = JSON.parse(opened) as SessionStart & { until: number };
    return start.principalId === principalId && start.until > Date.now() ? start : undefined;
  }

  /** What is known of a session at all gateways; while the store is away, nothing. */
  async stateOf(nonce: string): Promise<SessionState> {
    const read = await this.#done(async (store) => {
      return toState(
        (await store.read(NAME, [nonce])).entries.get(nonce)?.value,
        this.#words,
        nonce,
      );
    });
    return read ?? stateSchema.parse({});
  }

  /** Changes that at all gateways. */
  async change(nonce: string, edit: (state: SessionState) => SessionState): Promise<void> {
    await this.#done(async (store) => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const known = (await store.read(NAME, [nonce])).entries.get(nonce);
        const edited = edit(toState(known?.value, this.#words, nonce));
        const state = { ...edited, uris: edited.uris.slice(-MAX_URIS) };
        const value = this.#words.seal(JSON.stringify(state), nonce);
        const { ok } = await store.commit(NAME, {
          writes: [{ kind: 'put', key: nonce, value, ttlMs: KEEP_MS }],
          ifKeys: new Map([[nonce, known?.version ?? 0]]),
          event: this.#toEvent({ kind: 'state', session: nonce }),
        });
        if (ok) return;
      }
    });
  }

  /** A message of a client that belongs to an exchange of another gateway, or of any. */
  async relay(nonce: string, message: Json, to?: string): Promise<void> {
    await this.#send({ kind: 'message', session: nonce, message }, to);
  }

  /** Continues a stream of another gateway here; false when that gateway does not. */
  async resume(
    nonce: string,
    to: string,
    eventId: string,
    response: ServerResponse,
  ): Promise<boolean> {
    const channel = randomUUID();
    const begun = Promise.withResolvers<boolean>();
    this.#reading.set(channel, {
      take: ({ text, is }) => {
        begun.resolve(is !== 'unknown');
        if (is === 'unknown' || response.destroyed) return;
        if (!response.headersSent) response.writeHead(200, SSE_HEADERS).flushHeaders();
        if (text !== undefined) response.write(text);
        if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
        else if (is === 'end') response.end();
      },
    });
    response.once('close', () => {
      this.#reading.delete(channel);
      void this.#send({ kind: 'leave', channel }, to);
    });
    await this.#send({ kind: 'resume', session: nonce, channel, eventId }, to);
    const timer = setTimeout(() => begun.resolve(false), ANSWER_MS).unref();
    const isTaken = await begun.promise;
    clearTimeout(timer);
    if (!isTaken) this.#reading.delete(channel);
    return isTaken;
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#pulling;
    await this.#unwatch?.().catch(() => undefined);
  }

  #toEvent(relayed: Relayed, to?: string): Json {
    const addressed = { ...relayed, from: this.tag, ...(to !== undefined && { to }) };
    return this.#words.seal(JSON.stringify(addressed));
  }

  async #send(relayed: Relayed, to?: string): Promise<void> {
    const event = this.#toEvent(relayed, to);
    await this.#done((store) => store.commit(NAME, { writes: [], event }));
  }

  /** Coalesced: a hint that comes while messages are read makes them be read once more. */
  async #hint(): Promise<void> {
    if (this.#isHinted) return;
    this.#isHinted = true;
    await this.#pulling;
    this.#isHinted = false;
    this.#pulling = this.#pull();
    await this.#pulling;
  }

  async #pull(): Promise<void> {
    await this.#done(async (store) => {
      this.#unwatch ??= await store.watch(NAME, () => void this.#hint());
      this.#cursor ??= (await store.read(NAME, [])).version;
      for (let isLast = false; !isLast; ) {
        const { events, cursor, gap } = await store.events(NAME, this.#cursor, MAX_EVENTS);
        this.#cursor = cursor;
        isLast = events.length < MAX_EVENTS;
        for (const { event } of events) await this.#take(event);
        if (gap) for (const nonce of [...this.#handlers.open()]) await this.#readState(nonce);
      }
    });
  }

  async #take(event: Json): Promise<void> {
    const text = typeof event === 'string' ? this.#words.open(event) : undefined;
    if (text === undefined) return;
    const relayed = JSON.parse(text) as Addressed;
    if (relayed.from === this.tag || (relayed.to ?? this.tag) !== this.tag) return;
    switch (relayed.kind) {
      case 'message':
        return this.#handlers.onMessage(relayed.session, relayed.message);
      case 'state':
        return await this.#readState(relayed.session);
      case 'resume':
        return this.#continue(relayed, relayed.from);
      case 'rest':
        return this.#reading.get(relayed.channel)?.take(relayed);
      case 'leave':
        return void this.#sending.get(relayed.channel)?.destroy();
    }
  }

  async #readState(nonce: string): Promise<void> {
    if ([...this.#handlers.open()].includes(nonce)) {
      this.#handlers.onState(nonce, await this.stateOf(nonce));
    }
  }

  #continue({ session, channel, eventId }: Relayed & { kind: 'resume' }, to: string): void {
    const say = (rest: { text?: string; is?: 'end' | 'unknown' }) =>
      this.#send({ kind: 'rest', channel, ...rest }, to);
    const response = new RelayedResponse(say, () => this.#sending.delete(channel));
    this.#sending.set(channel, response);
    try {
      this.#handlers.onResume(session, eventId, response as unknown as ServerResponse);
    } catch {
      this.#sending.delete(channel);
      void say({ is: 'unknown' });
    }
  }

  /** Never rejects: without the store a session is served as far as one gateway can. */
  async #done<Result>(work: (store: RealmStore) => Promise<Result>): Promise<Result | undefined> {
    if (!this.#store) return undefined;
    try {
      const result = await work(this.#store);
      this.#reach.reached();
      return result;
    } catch (error) {
      this.#reach.failed(FabricError.from(error));
      return undefined;
    }
  }
}

function toState(value: Json | undefined, words: Seal, nonce: string): SessionState {
  const text = typeof value === 'string' ? words.open(value, nonce) : undefined;
  return stateSchema.parse(text === undefined ? {} : JSON.parse(text));
}

/** What is written to it is read by a client of another gateway. */
class RelayedResponse extends Writable {
  headersSent = false;
  readonly #say: (rest: { text?: string; is?: 'end' }) => Promise<void>;
  readonly #onOver: () => void;

  constructor(say: (rest: { text?: string; is?: 'end' }) => Promise<void>, onOver: () => void) {
    super({ decodeStrings: false });
    this.#say = say;
    this.#onOver = onOver;
  }

  writeHead(): this {
    this.headersSent = true;
    return this;
  }

  /** The first word tells the other gateway that there is such a stream. */
  flushHeaders(): void {
    this.write(':\n\n');
  }

  override _write(chunk: unknown, _: unknown, done: () => void): void {
    void this.#say({ text: String(chunk) }).then(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#onOver();
    void this.#say({ is: 'end' }).then(() => done(error));
  }
}
