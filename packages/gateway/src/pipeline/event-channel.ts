// Between an agent that talks and a caller that reads. Events wait here in a bounded queue: tokens
// that wait are joined, a full queue holds the agent back, and a reader that takes nothing for too
// long is cut off with OVERLOADED. Events are numbered as they leave, so joining makes no gaps.

import {
  countedIn,
  type EventBody,
  type EventStamper,
  FabricError,
  type FabricEvent,
} from '@starloom/core';
import type { EventPlace } from '@starloom/mcp-client/server';
import { deadlineSignal } from '@starloom/wire';
import { failure } from '../reasons.ts';

interface EventChannelOptions {
  readonly stamper: EventStamper;
  readonly send: (event: FabricEvent, place?: EventPlace) => Promise<void>;
  /** Called once when the reader is given up, with the reason. */
  readonly onCut: (error: FabricError) => void;
  readonly maxEvents?: number;
  readonly maxTextLength?: number;
  /** How long the reader may take nothing. */
  readonly stallMs: number;
}

interface Waiting {
  body: EventBody;
  readonly agentId: string;
}

export class EventChannel {
  readonly #options: Required<EventChannelOptions>;
  readonly #queue: Waiting[] = [];
  #textLength = 0;
  #writing: Promise<void> | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #cut: FabricError | undefined;

  constructor(options: EventChannelOptions) {
    this.#options = { maxEvents: 256, maxTextLength: 1 << 20, ...options };
  }

  /** Takes an event; resolves when there is room for the next. */
  push(body: EventBody, agentId: string): Promise<void> | undefined {
    if (this.#cut) return undefined;
    this.#enqueue(body, agentId);
    this.#writing ??= this.#write();
    if (!this.#isFull) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Resolves when everything that was taken is written, or the reader was given up. */
  async drain(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  get #isFull(): boolean {
    const { maxEvents, maxTextLength } = this.#options;
    return this.#queue.length >= maxEvents || this.#textLength >= maxTextLength;
  }

  #enqueue(body: EventBody, agentId: string): void {
    if (body.type === 'token') {
      this.#textLength += body.data.text.length;
      const last = this.#queue.at(-1);
      if (last?.body.type === 'token' && last.agentId === agentId) {
        last.body = { type: 'token', data: { text: last.body.data.text + body.data.text } };
        return;
      }
    }
    this.#queue.push({ body, agentId });
  }

  async #write(): Promise<void> {
    const { stamper, send } = this.#options;
    try {
      for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
        if (next.body.type === 'token') this.#textLength -= next.body.data.text.length;
        const event = stamper.stamp(next.body, next.agentId);
        const counted = countedIn(next.body);
        await this.#orStalled(counted ? send(event, { counted }) : send(event));
        if (!this.#isFull) this.#makeRoom();
      }
    } catch (error) {
      this.#cut = FabricError.from(error);
      this.#queue.length = 0;
      this.#options.onCut(this.#cut);
    } finally {
      this.#writing = undefined;
      this.#makeRoom();
    }
  }

  async #orStalled(sent: Promise<void>): Promise<void> {
    const { stallMs: ms } = this.#options;
    const reason = () => failure('slow_reader', { stall_ms: ms });
    using patience = deadlineSignal({ ms, reason });
    await patience.until(sent);
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
