// The events of one session that were sent and may have been lost on the way, kept for clients that
// resume by `Last-Event-ID`. Bounded per session and over all sessions: the oldest go first.

import type { ServerResponse } from 'node:http';
import { failure } from '../reasons.ts';

/** Shared by all sessions: how many characters they keep together. */
export interface EventBudget {
  readonly most: number;
  kept: number;
}

/** What continues a stream on another connection, after the event with this number. */
export interface Resumable {
  resume(response: ServerResponse, after: number): void;
}

interface EventLimits {
  readonly events: number;
  readonly characters: number;
}

const EVENT_LIMITS: EventLimits = { events: 256, characters: 256 * 1024 };

export class SentEvents {
  readonly #budget: EventBudget;
  readonly #limits: EventLimits;
  /** In the ids of its events, so that other gateways know whose they are. */
  readonly #prefix: string;
  readonly #streams = new Map<string, KeptStream>();
  /** The stream of each kept event, oldest first. */
  readonly #order: KeptStream[] = [];
  #characters = 0;
  #next = 1;

  constructor(budget: EventBudget, limits: EventLimits = EVENT_LIMITS, prefix = '') {
    this.#budget = budget;
    this.#prefix = prefix;
    this.#limits = limits;
  }

  /** A stream whose events are to be kept; the ids of one that a client listens on begin with "l". */
  open(owner: Resumable, isListener = false): KeptStream {
    const stream = new KeptStream(`${this.#prefix}${isListener ? 'l' : ''}${this.#next}`, owner);
    this.#next += 1;
    this.#streams.set(stream.name, stream);
    return stream;
  }

  /** The id of the event. One that is larger than all that may be kept is not kept. */
  keep(stream: KeptStream, text: string): string {
    const id = stream.add(text);
    this.#order.push(stream);
    this.#count(text.length);
    while (this.#order.length > 0 && this.#isOver()) this.#dropOldest();
    return id;
  }

  /** No more events come; the stream is forgotten when its last event is. */
  end(stream: KeptStream): void {
    stream.isOver = true;
    if (stream.events.length === 0) this.#streams.delete(stream.name);
  }

  /** Continues the stream of an event after that event. BAD_INPUT when it is not known. */
  resume(eventId: string, response: ServerResponse): Resumable {
    const [, name = '', sequence] = /^(.{1,40})-(\d{1,15})$/.exec(eventId) ?? [];
    const stream = this.#streams.get(name);
    const after = Number(sequence);
    if (!stream?.isComplete(after)) {
      throw failure('unknown_event', { last_event_id: eventId.slice(0, 64) });
    }
    stream.owner.resume(response, after);
    return stream.owner;
  }

  close(): void {
    this.#count(-this.#characters);
    this.#order.length = 0;
    this.#streams.clear();
  }

  #isOver(): boolean {
    const { events, characters } = this.#limits;
    const { kept, most } = this.#budget;
    return this.#order.length > events || this.#characters > characters || kept > most;
  }

  #dropOldest(): void {
    const stream = this.#order.shift();
    const text = stream?.drop();
    if (stream === undefined || text === undefined) return;
    this.#count(-text.length);
    if (stream.isOver && stream.events.length === 0) this.#streams.delete(stream.name);
  }

  #count(characters: number): void {
    this.#characters += characters;
    this.#budget.kept += characters;
  }
}

export interface KeptEvent {
  readonly id: string;
  readonly text: string;
}

/** One stream of events: the answer to a POST, or what a GET listens to. */
export class KeptStream {
  readonly name: string;
  readonly owner: Resumable;
  readonly events: KeptEvent[] = [];
  isOver = false;
  /** The number of the last event. */
  #last = 0;

  constructor(name: string, owner: Resumable) {
    this.name = name;
    this.owner = owner;
  }

  add(text: string): string {
    this.#last += 1;
    const id = `${this.name}-${this.#last}`;
    this.events.push({ id, text });
    return id;
  }

  drop(): string | undefined {
    return this.events.shift()?.text;
  }

  /** Whether every event after this one is kept. */
  isComplete(after: number): boolean {
    return after <= this.#last && after >= this.#last - this.events.length;
  }

  /** The kept events after this one. */
  after(number: number): readonly KeptEvent[] {
    return this.events.slice(this.events.length - (this.#last - number));
  }
}
