// A connection that carries one JSON-RPC message at a time in each direction, as the SDK wants it:
// standard input and output, or a WebSocket. Every message in passes the frame checks; a refused one
// is answered, and the connection goes on.

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { FabricError, type Log } from '@starloom/core';
import { toRefusal } from '@starloom/wire';
import { parseFrame, refusedId } from './frame.ts';

/** A text as it came, or why it could not be read. */
export type Incoming = string | FabricError;

export interface MessageChannel {
  /** Calls back for each text that arrives, then once when the other side is gone. */
  open(onText: (text: Incoming) => void, onClose: () => void): void;
  /** Nothing when there is room for the next, else a promise of it. Throws when nobody is there. */
  readonly write: (text: string) => Promise<void> | void;
  close(): Promise<void>;
}

/** Sees each message first, and hands it on, now or later, or not at all. */
export type Intake = (message: JSONRPCMessage, deliver: (message: JSONRPCMessage) => void) => void;

export interface MessageTransportOptions {
  readonly channel: MessageChannel;
  readonly log: Log;
  /** Called once, when the other side is gone. */
  readonly onGone: () => void;
  readonly intake?: Intake | undefined;
}

export class MessageTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #channel: MessageChannel;
  readonly #log: Log;
  readonly #onGone: () => void;
  readonly #intake: Intake;

  constructor({ channel, log, onGone, intake }: MessageTransportOptions) {
    this.#channel = channel;
    this.#log = log;
    this.#onGone = onGone;
    this.#intake = intake ?? ((message, deliver) => deliver(message));
  }

  async start(): Promise<void> {
    this.#channel.open(
      (text) => this.#receive(text),
      () => {
        this.onclose?.();
        this.#onGone();
      },
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#channel.write(JSON.stringify(message));
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #receive(text: Incoming): void {
    try {
      const frame = parseFrame(textOf(text));
      for (const message of Array.isArray(frame) ? frame : [frame]) {
        this.#intake(message, (taken) => this.onmessage?.(taken));
      }
    } catch (thrown) {
      const error = FabricError.from(thrown);
      this.#log.debug({ error }, 'a message was refused');
      void this.#refuse(toRefusal(error, idFor(text, error)).body);
    }
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
