// The coordination plane on a channel of messages, a WebSocket or standard input and output: requests
// are done in the order they come, and what is pushed comes in between. What one client has under way
// is bounded, whether it reads its answers or not: no more is read than is done in turn, and of
// requests that may wait for something there are only so many at a time.

import type { Coordination, RpcConnection, RpcPeer, RpcReply } from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { streamTurns, toRefusal } from '@starloom/wire';
import type { InFlight } from '../in-flight.ts';
import type { ActiveRequest } from '../observe/observer.ts';
import type { CallLimits } from '../pipeline/limits.ts';
import { failure } from '../reasons.ts';
import { parseValue } from '../transports/frame.ts';
import {
  Backlog,
  type Incoming,
  type Load,
  type MessageChannel,
  type PacedChannel,
  pacedChannel,
} from '../transports/message-channel.ts';
import { idFor, textOf } from '../transports/message-transport.ts';
import type { HeldBytes } from '../transports/reply.ts';
import { errorIn, loadOfWait, mayWait } from './posts.ts';

export interface RpcChannelOptions {
  readonly coordination: Coordination;
  readonly principal: Principal;
  readonly gateway?: RpcConnection['gateway'];
  /** Requests count until their answer has left. */
  readonly inFlight?: InFlight | undefined;
  /** Counts what is under way with the rest of its principal. */
  readonly held?: Pick<HeldBytes, 'take' | 'give'> | undefined;
  /** Without it, as on standard input and output, messages are not counted. */
  readonly limits?: Pick<CallLimits, 'messages'> | undefined;
  readonly log: Log;
  /** A message has come. */
  readonly observe: () => ActiveRequest;
}

const MAX_IN_TURN: Load = { requests: 256, bytes: 4 << 20 };
const MAX_WAITING: Load = { requests: 1_000, bytes: 64 << 20 };
const QUOTA = { allowed: MAX_WAITING.requests, allowed_bytes: MAX_WAITING.bytes };

/** Resolves when the client is gone and everything was answered that could be. */
export async function serveRpcChannel(
  channel: MessageChannel,
  options: RpcChannelOptions,
): Promise<void> {
  await new RpcChannel(channel, options).serve();
}

class RpcChannel {
  readonly #channel: PacedChannel;
  readonly #peer: RpcPeer;
  readonly #options: RpcChannelOptions;
  readonly #inTurn = new Backlog(MAX_IN_TURN);
  readonly #waiting = new Backlog(MAX_WAITING);
  #turn: Promise<void> = Promise.resolve();

  constructor(channel: MessageChannel, options: RpcChannelOptions) {
    const { coordination, principal, gateway } = options;
    this.#options = options;
    this.#channel = pacedChannel(channel);
    this.#peer = coordination.connect({
      principal,
      gateway,
      push: (notification) => this.#push(notification),
    });
  }

  async serve(): Promise<void> {
    const gone = Promise.withResolvers<void>();
    this.#channel.open((incoming) => this.#take(incoming), gone.resolve);
    await gone.promise;
    await this.#turn;
    // Thousands of clients may leave at once.
    await streamTurns.enter(this.#options.principal.id);
    await this.#peer.close();
    await this.#waiting.done();
  }

  #take(incoming: Incoming): Promise<void> | undefined {
    const seen = this.#options.observe();
    const { message, refusal } = read(incoming, seen);
    const bytes = typeof incoming === 'string' ? incoming.length : 0;
    const isWait = mayWait(message);
    const load = isWait ? loadOfWait(message, bytes) : { requests: 1, bytes };
    const tooOften = this.#charge(message, load);
    if (isWait && !tooOften && !this.#waiting.isFull) {
      const answered = this.#afterTurn(() => this.#answerInTime(message, seen));
      void this.#waiting.add(this.#held(answered, load), load);
      return undefined;
    }
    const cut = tooOften ?? (isWait ? AbortSignal.abort(failure('quota', QUOTA)) : undefined);
    const leave = this.#options.inFlight?.enter();
    this.#turn = this.#afterTurn(async () => {
      try {
        if (refusal !== undefined) await this.#channel.write(refusal);
        else
          await this.#answer(
            await this.#peer.reply(message, { cut, trace: () => seen.trace }),
            seen,
          );
      } finally {
        seen.end();
        void this.#channel.flushed().then(leave);
      }
    });
    const done = tooOften ? this.#turn : this.#held(this.#turn, load);
    return this.#inTurn.add(done, load);
  }

  /** Aborted, with the refusal as its reason, when this client sends too many messages. */
  #charge(message: unknown, { bytes }: Load): AbortSignal | undefined {
    const { limits, held, principal } = this.#options;
    try {
      limits?.messages(principal, countOf(message));
      held?.take(principal.id, bytes);
      return undefined;
    } catch (error) {
      return AbortSignal.abort(error);
    }
  }

  /** What it holds is given back when it is answered. */
  #held(work: Promise<void>, { bytes }: Load): Promise<void> {
    const { held, principal } = this.#options;
    return held ? work.then(() => held.give(principal.id, bytes)) : work;
  }

  async #answer(reply: RpcReply | undefined, seen: ActiveRequest): Promise<void> {
    seen.answeredWith(errorIn(reply));
    if (reply) await this.#channel.write(reply.toText());
  }

  /** Nothing is asked for, and no text is made, that the client has no room for. */
  async #answerInTime(message: unknown, seen: ActiveRequest): Promise<void> {
    try {
      const trace = () => seen.trace;
      const reply = await this.#whenRoom(() => this.#peer.reply(message, { trace }));
      // One write to the disk may be what a thousand of them waited for.
      await streamTurns.enter(this.#options.principal.id);
      await this.#whenRoom(() => this.#answer(reply, seen));
    } finally {
      seen.end();
    }
  }

  /** No other request takes the room between the check and the work: there is no await in between. */
  async #whenRoom<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let full = this.#channel.room(); full; full = this.#channel.room()) await full;
    return await work();
  }

  /** One client may be subscribed a thousand times to what it changes itself. */
  #push(notification: string): Promise<void> | void {
    const turn = streamTurns.enter(this.#options.principal.id);
    if (turn === undefined) return this.#channel.write(notification);
    return turn.then(() => this.#channel.write(notification));
  }

  #afterTurn(work: () => Promise<void>): Promise<void> {
    const { principal, log } = this.#options;
    const inTurn = async () => {
      await streamTurns.enter(principal.id);
      await work();
    };
    return this.#turn.then(inTurn).catch((error: unknown) => {
      log.debug({ error: FabricError.from(error) }, 'an answer could not be sent');
    });
  }
}

/** How many messages it is; a batch is as many as it has. */
export function countOf(message: unknown): number {
  return Array.isArray(message) ? Math.max(1, message.length) : 1;
}

interface Read {
  readonly message?: unknown;
  readonly refusal?: string;
}

function read(incoming: Incoming, seen: ActiveRequest): Read {
  try {
    const message = parseValue(textOf(incoming));
    seen.read(message);
    return { message };
  } catch (error) {
    seen.fail(error);
    return { refusal: toRefusal(error, idFor(incoming, error), 'details', seen.trace).body };
  }
}
