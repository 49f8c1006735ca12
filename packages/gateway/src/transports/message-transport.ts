// A connection that carries one JSON-RPC message at a time in each direction, as the SDK wants it:
// standard input and output, or a WebSocket. Every message in passes the frame checks; a refused one
// is answered, and the connection goes on. From a client that does not read nothing is read, and what
// it has asked for without being answered is bounded.

import type { JSONRPCMessage, JSONRPCRequest, Transport } from '@modelcontextprotocol/server';
import { FabricError, type Log } from '@starloom/core';
import { settlesWithin, toRefusal } from '@starloom/wire';
import type { InFlight } from '../in-flight.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import { failure } from '../reasons.ts';
import { parseFrame, refusedId } from './frame.ts';
import type { Incoming, Load, PacedChannel } from './message-channel.ts';
import type { HeldBytes } from './reply.ts';

/** Sees each message first, and hands it on, now or later, or not at all. */
export type Intake = (message: JSONRPCMessage, deliver: (message: JSONRPCMessage) => void) => void;

interface MessageTransportOptions {
  readonly channel: PacedChannel;
  readonly log: Log;
  /** Requests count until their answer has left. */
  readonly inFlight: InFlight;
  /** Called once, when the other side is gone. */
  readonly onGone: () => void;
  readonly observe: (message: unknown) => ActiveRequest;
  readonly intake?: Intake | undefined;
  readonly holder?: Holder | undefined;
}

const CANCEL = 'notifications/cancelled';
/** It stays open for as long as the client likes. */
const LISTEN = 'subscriptions/listen';
/** How long a shutdown waits for a client that does not read its answer. */
const READ_MS = 10_000;
const MAX_OPEN = { requests: 1_000, bytes: 64 << 20 };

export class MessageTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #channel: PacedChannel;
  readonly #log: Log;
  readonly #onGone: () => void;
  readonly #intake: Intake;
  readonly #open: OpenRequests;
  readonly #account: InFlight;
  /** How to end each request in the account. */
  readonly #inFlight = new Map<string | number, () => void>();
  readonly #observe: MessageTransportOptions['observe'];
  /** What is not answered yet. */
  readonly #seen = new Map<string | number, ActiveRequest>();

  constructor({ channel, log, inFlight, onGone, observe, ...options }: MessageTransportOptions) {
    const { intake, holder } = options;
    this.#observe = observe;
    this.#open = new OpenRequests(MAX_OPEN, holder);
    this.#account = inFlight;
    this.#channel = channel;
    this.#log = log;
    this.#onGone = onGone;
    this.#intake = intake ?? ((message, deliver) => deliver(message));
  }

  async start(): Promise<void> {
    this.#channel.open(
      (text) => this.#receive(text),
      () => {
        for (const leave of this.#inFlight.values()) leave();
        for (const id of [...this.#seen.keys()]) this.#cancelled(id);
        this.#open.close();
        this.onclose?.();
        this.#onGone();
      },
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const answered = 'method' in message ? undefined : message.id;
    if (answered === undefined) return await this.#channel.write(JSON.stringify(message));
    this.#seen.get(answered)?.answeredWith('error' in message ? message.error : undefined);
    this.#end(answered);
    const written = this.#writeAnswer(JSON.stringify(message));
    void settlesWithin(written, READ_MS).then(() => this.#leave(answered));
    try {
      await written;
    } finally {
      this.#open.end(answered);
    }
  }

  /** How a request is observed that is not answered yet. */
  requestOf(id: string | number): ActiveRequest | undefined {
    return this.#seen.get(id);
  }

  /** Resolves when the answer has left this process. */
  async #writeAnswer(text: string): Promise<void> {
    await this.#channel.write(text);
    await this.#channel.flushed();
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #receive(text: Incoming): Promise<void> | undefined {
    try {
      const frame = parseFrame(textOf(text)) as JSONRPCMessage | JSONRPCMessage[];
      const messages = [frame].flat();
      if (messages.some(isRequest)) {
        this.#account.assertOpen();
        this.#open.assertRoom(String(text).length);
      }
      for (const message of messages) this.#note(message, String(text).length / messages.length);
      for (const message of messages) this.#intake(message, (taken) => this.onmessage?.(taken));
    } catch (thrown) {
      const error = FabricError.from(thrown);
      const refused = this.#observe(undefined);
      refused.fail(error);
      void this.#refuse(toRefusal(error, idFor(text, error), 'payload', refused.trace).body);
      refused.end();
    }
    return this.#channel.room();
  }

  /** A request that is cancelled is not answered. */
  #note(message: JSONRPCMessage, bytes: number): void {
    if (isRequest(message)) {
      this.#open.begin(message.id, bytes);
      this.#seen.set(message.id, this.#observe(message));
      if (message.method !== LISTEN) this.#inFlight.set(message.id, this.#account.enter());
    } else if ('method' in message && message.method === CANCEL) {
      const { requestId } = message.params ?? {};
      if (!isId(requestId)) return;
      this.#open.end(requestId);
      this.#cancelled(requestId);
      this.#leave(requestId);
    }
  }

  #cancelled(id: string | number): void {
    this.#seen.get(id)?.fail(failure('cancelled'));
    this.#end(id);
  }

  #end(id: string | number): void {
    this.#seen.get(id)?.end();
    this.#seen.delete(id);
  }

  #leave(id: string | number): void {
    this.#inFlight.get(id)?.();
    this.#inFlight.delete(id);
  }

  async #refuse(body: string): Promise<void> {
    try {
      await this.#channel.write(body);
    } catch (error) {
      this.#log.debug({ error: FabricError.from(error) }, 'a refusal could not be sent');
    }
  }
}

/** Throws what was wrong with it. */
export function textOf(incoming: Incoming): string {
  if (typeof incoming === 'string') return incoming;
  throw incoming;
}

/** The id to answer with when it is refused. */
export function idFor(refused: Incoming, error: unknown): string | number | null {
  return typeof refused === 'string' ? refusedId(refused, error) : null;
}

function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

type RequestId = string | number;

/** Whose requests they are, where all of its connections are counted together. */
interface Holder {
  readonly held: Pick<HeldBytes, 'take' | 'give'>;
  readonly principalId: string;
}

/** Requests of one client that are not answered: a client that has too many is refused the next. */
export class OpenRequests {
  readonly #most: Load;
  /** The bytes of each, by id; a client may use one twice. */
  readonly #open = new Map<RequestId, number[]>();
  #requests = 0;
  #bytes = 0;

  readonly #holder: Holder | undefined;

  constructor(most: Load, holder?: Holder) {
    this.#most = most;
    this.#holder = holder;
  }

  /** OVERLOADED when there is no room for this much, here or for all connections of the principal. */
  assertRoom(bytes: number): void {
    const isFull = this.#requests >= this.#most.requests || this.#bytes >= this.#most.bytes;
    if (isFull) throw this.#tooMany();
    this.#hold(bytes);
    this.#hold(-bytes);
  }

  begin(id: RequestId, bytes: number): void {
    this.#hold(bytes);
    this.#open.set(id, [...(this.#open.get(id) ?? []), bytes]);
    this.#requests += 1;
    this.#bytes += bytes;
  }

  end(id: RequestId): void {
    const [ended, ...others] = this.#open.get(id) ?? [];
    if (ended === undefined) return;
    if (others.length > 0) this.#open.set(id, others);
    else this.#open.delete(id);
    this.#requests -= 1;
    this.#bytes -= ended;
    this.#hold(-ended);
  }

  /** The client is gone: nothing of it is held any more. */
  close(): void {
    for (const id of this.#open.keys()) while (this.#open.has(id)) this.end(id);
  }

  #hold(bytes: number): void {
    const { held, principalId } = this.#holder ?? {};
    if (principalId === undefined) return;
    if (bytes < 0) held?.give(principalId, -bytes);
    else held?.take(principalId, bytes);
  }

  #tooMany(): FabricError {
    return new FabricError('OVERLOADED', 'Too many requests of this connection are not answered', {
      details: {
        reason: 'too_many_requests',
        allowed: this.#most.requests,
        allowed_bytes: this.#most.bytes,
        fix: 'ask again when some of them are answered',
      },
    });
  }
}
