// One connection between a gateway and a node, on which both open streams. What is sent on a stream and not
// read yet is bounded: the side that serves it waits for room, and a side that sends more breaks the
// protocol. A frame for a stream that was never opened ends the connection; a late one is ignored. When
// the connection ends, so do all of its streams, as AGENT_OFFLINE.

import { FabricError, type Fields, type Log, orAborted } from '@starloom/core';
import { failure } from '../reasons.ts';
import {
  type Frame,
  fromLinkError,
  type OpenerFrame,
  parseFrame,
  type ServerFrame,
  toLinkError,
} from './frames.ts';
import { OpenedStream, type OpenOptions, type ServedFrame, ServedStream } from './streams.ts';

/** Carries texts in both directions. `write` throws when the other side is gone. */
export interface LinkChannel {
  open(onText: (text: string | FabricError) => Promise<void> | void, onClose: () => void): void;
  readonly write: (text: string) => Promise<void> | void;
  close(): Promise<void> | void;
}

export interface NodeLinkOptions {
  readonly channel: LinkChannel;
  /** Serves a stream of the other side; resolves with the value that ends it. */
  readonly serve: (stream: ServedStream) => Promise<unknown>;
  /** Of the other side, for messages: `node "one"`, or the address of a gateway. */
  readonly peer: string;
  readonly log: Log;
  /** Streams that the other side may have open at once. */
  readonly maxServed: number;
}

const MAX_LENGTH = 32 * 1024 * 1024;

export class NodeLink {
  readonly #options: NodeLinkOptions;
  readonly #opened = new Map<number, OpenedStream>();
  readonly #served = new Map<number, ServedStream>();
  readonly #closed = Promise.withResolvers<FabricError>();
  #lastOpened = 0;
  #lastServed = 0;
  #reason: FabricError | undefined;
  /** The largest text that the other side takes, once it said so. */
  maxLength = MAX_LENGTH;
  /** For messages: who the other side is. */
  peer: string;

  constructor(options: NodeLinkOptions) {
    this.#options = options;
    this.peer = options.peer;
    options.channel.open(
      (text) => this.#take(text),
      () => this.#end(failure('link_lost', { peer: this.peer })),
    );
  }

  /** Resolves with the reason when the connection is over. */
  get closed(): Promise<FabricError> {
    return this.#closed.promise;
  }

  get isOpen(): boolean {
    return this.#reason === undefined;
  }

  /** Streams of the other side that are being served. */
  get served(): number {
    return this.#served.size;
  }

  /**
   * The items of a new stream as they come; returns the value that ended it. Errors that were thrown before
   * anything left have `sent: false`. When the reader stops early, or the signal aborts, the stream is
   * cancelled at the other side.
   */
  async *open(
    method: string,
    params: Fields,
    { signal, onAsk }: OpenOptions,
  ): AsyncGenerator<unknown, unknown, void> {
    if (signal.aborted) throw FabricError.from(signal.reason).with({ sent: false });
    if (this.#reason) throw this.#lost(false);
    const id = this.#lastOpened + 1;
    const text = this.#toText({ type: 'open', id, method, params });
    this.#lastOpened = id;
    const stream = new OpenedStream(onAsk);
    this.#opened.set(id, stream);
    try {
      this.#write(text);
      while (true) {
        const item = stream.items.shift();
        if (item) {
          const room = stream.read(item.length);
          if (room > 0) this.#send({ type: 'room', id, length: room });
          yield item.value;
        } else if (stream.outcome) {
          if (stream.outcome.error) throw stream.outcome.error;
          return stream.outcome.value;
        } else await orAborted(stream.more(), signal);
      }
    } finally {
      this.#opened.delete(id);
      stream.stopAsking();
      if (!stream.outcome) {
        const reason = signal.aborted ? signal.reason : failure('not_read');
        this.#send({ type: 'cancel', id, error: toLinkError(reason) });
      }
    }
  }

  /** The value that ends a stream; its items go to `onItem`, one after the other. */
  async request(
    method: string,
    params: Fields,
    { onItem, ...options }: OpenOptions & { onItem?: (item: unknown) => Promise<void> | void },
  ): Promise<unknown> {
    const stream = this.open(method, params, options);
    try {
      while (true) {
        const { done, value } = await stream.next();
        if (done) return value;
        await onItem?.(value);
      }
    } finally {
      await stream.return(undefined);
    }
  }

  /** Tells the other side why, and ends. */
  close(reason: FabricError): void {
    if (this.#reason) return;
    this.#send({ type: 'close', id: 0, error: toLinkError(reason) });
    this.#end(reason);
    void this.#options.channel.close();
  }

  #end(reason: FabricError): void {
    if (this.#reason) return;
    this.#reason = reason;
    const error = this.#lost(true);
    for (const stream of this.#opened.values()) stream.end({ error });
    for (const stream of this.#served.values()) stream.cancel(error, true);
    this.#closed.resolve(reason);
  }

  /** The same error whatever the reason is: the other side does not decide how calls end. */
  #lost(sent: boolean): FabricError {
    return failure('link_lost', { peer: this.peer, sent }, { cause: this.#reason });
  }

  #take(text: string | FabricError): void {
    if (this.#reason) return;
    try {
      if (typeof text !== 'string') throw text;
      this.#takeFrame(parseFrame(text), text.length);
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#options.log.warn(
        { peer: this.peer, error },
        'the connection is closed: a message could not be taken',
      );
      this.close(error);
    }
  }

  #takeFrame(frame: Frame, length: number) {
    switch (frame.type) {
      case 'close':
        this.#end(fromLinkError(frame.error));
        return void this.#options.channel.close();
      case 'open':
        return this.#begin(frame);
      case 'room':
      case 'cancel':
      case 'answer':
      case 'no_answer':
        if (frame.id > this.#lastServed) throw unknownStream();
        return this.#served.get(frame.id)?.take(frame);
      default:
        if (frame.id > this.#lastOpened) throw unknownStream();
        return this.#takeOpened(frame, length);
    }
  }

  #begin({ id, method, params }: Extract<OpenerFrame, { type: 'open' }>) {
    const { serve, maxServed } = this.#options;
    if (id <= this.#lastServed) throw failure('link_protocol', { problem: 'an id used twice' });
    this.#lastServed = id;
    if (this.#served.size >= maxServed) {
      const error = failure('link_streams', { limit: maxServed });
      return this.#send({ type: 'error', id, error: toLinkError(error) });
    }
    const stream = new ServedStream(method, params, (frame) => this.#sendServed(id, frame));
    this.#served.set(id, stream);
    const done = (frame: ServerFrame) => {
      this.#served.delete(id);
      stream.finish();
      this.#send(frame);
    };
    serve(stream).then(
      (value) => done({ type: 'end', id, value: value ?? null }),
      (error: unknown) => done({ type: 'error', id, error: toLinkError(error) }),
    );
  }

  #takeOpened(frame: ServerFrame, length: number) {
    const stream = this.#opened.get(frame.id);
    if (!stream) return;
    switch (frame.type) {
      case 'item':
        return stream.add(frame.value, length);
      case 'ask':
        return stream.ask(frame, (answer) => this.#send(answer));
      case 'withdraw':
        return stream.withdraw(frame.ask);
      case 'end':
        return stream.end({ value: frame.value });
      case 'error':
        return stream.end({ error: fromLinkError(frame.error) });
    }
  }

  /** The length of what was sent. */
  #sendServed(id: number, frame: ServedFrame): number {
    const text = this.#toText({ ...frame, id } as Frame, 'link_message_too_large/agent');
    this.#write(text);
    return text.length;
  }

  /** Throws for what the other side would not take. */
  #toText(
    frame: Frame,
    reason: 'link_message_too_large' | 'link_message_too_large/agent' = 'link_message_too_large',
  ): string {
    const text = JSON.stringify(frame);
    if (text.length <= this.maxLength) return text;
    throw failure(reason, { limit: this.maxLength });
  }

  /** Drops a frame when the connection is over. */
  #send(frame: Frame): void {
    if (!this.isOpen) return;
    try {
      this.#write(this.#toText(frame, 'link_message_too_large/agent'));
    } catch (error) {
      if (frame.type === 'end' || frame.type === 'answer') this.#sendInstead(frame, error);
    }
  }

  #sendInstead(frame: Extract<Frame, { type: 'end' | 'answer' }>, thrown: unknown): void {
    const error = toLinkError(thrown);
    if (frame.type === 'end') this.#send({ type: 'error', id: frame.id, error });
    else this.#send({ type: 'no_answer', id: frame.id, ask: frame.ask, error });
  }

  /** A connection that breaks while it is written to ends by `onClose`. */
  #write(text: string): void {
    const { channel, log } = this.#options;
    const { peer } = this;
    try {
      channel.write(text)?.catch((error: unknown) => {
        log.debug({ peer, error: FabricError.from(error) }, 'a message was not sent');
      });
    } catch (cause) {
      throw failure('link_lost', { peer, sent: false }, { cause });
    }
  }
}

function unknownStream(): FabricError {
  return failure('link_protocol', { problem: 'a message for a stream that was never opened' });
}
