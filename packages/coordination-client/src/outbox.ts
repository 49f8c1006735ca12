// When a request is sent. A bounded number is under way at a time, so that a beat or a renewal never
// stands behind all that the agent has asked at once; the others wait here, in order. Requests that
// wait at the server on purpose are counted apart: they would keep the place of others for long.

import type { OpenRequest } from './open-requests.ts';

export const MOST_IN_FLIGHT = { brief: 256, waiting: 500 } as const;

/** What keeps a lock, or frees it for others, is not kept waiting. */
const FIRST = ['memory_locker.renew', 'memory_locker.release'];

export class Outbox {
  readonly #send: (request: OpenRequest) => void;
  readonly #brief: SendLane;
  readonly #waiting: SendLane;
  #isOpen = false;

  constructor(send: (request: OpenRequest) => void) {
    this.#send = send;
    this.#brief = new SendLane(MOST_IN_FLIGHT.brief, send);
    this.#waiting = new SendLane(MOST_IN_FLIGHT.waiting, send);
  }

  /** There is a connection: all of these are to be sent, in this order. */
  open(requests: readonly OpenRequest[]): void {
    this.#isOpen = true;
    for (const request of requests.filter(isFirst)) this.add(request);
    for (const request of requests.filter((each) => !isFirst(each))) this.add(request);
  }

  /** The connection is gone; the next one starts empty. */
  close(): void {
    this.#isOpen = false;
    this.#brief.clear();
    this.#waiting.clear();
  }

  add(request: OpenRequest): void {
    if (!this.#isOpen) return;
    if (isFirst(request)) this.#send(request);
    else this.#laneOf(request).add(request);
  }

  /** The caller does not wait for the answer any more. */
  settled(request: OpenRequest): void {
    this.#laneOf(request).remove(request);
  }

  #laneOf({ waitMs }: OpenRequest): SendLane {
    return waitMs > 0 ? this.#waiting : this.#brief;
  }
}

class SendLane {
  readonly #most: number;
  readonly #send: (request: OpenRequest) => void;
  readonly #queue = new Set<OpenRequest>();
  readonly #inFlight = new Set<OpenRequest>();

  constructor(most: number, send: (request: OpenRequest) => void) {
    this.#most = most;
    this.#send = send;
  }

  add(request: OpenRequest): void {
    this.#queue.add(request);
    this.#sendNext();
  }

  remove(request: OpenRequest): void {
    this.#queue.delete(request);
    if (this.#inFlight.delete(request)) this.#sendNext();
  }

  clear(): void {
    this.#queue.clear();
    this.#inFlight.clear();
  }

  #sendNext(): void {
    const [next] = this.#queue;
    if (next === undefined || this.#inFlight.size >= this.#most) return;
    this.#queue.delete(next);
    this.#inFlight.add(next);
    this.#send(next);
  }
}

function isFirst({ method }: OpenRequest): boolean {
  return FIRST.includes(method);
}
