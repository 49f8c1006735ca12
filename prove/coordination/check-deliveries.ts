// A subscriber gets every update after its cursor, in order and once, or is told of the gap. A gap
// is no excuse for one who keeps up: it must be wider than what is kept for those who lag, and there
// must be a snapshot to take instead.

import type { Delivery, Recording, Subscription } from './history.ts';
import { BACKLOG_EVENTS } from './promised-sizes.ts';
import { type Violation, violation } from './violation.ts';

export function checkDeliveries(recording: Recording): readonly Violation[] {
  const expected = updatesBySession(recording);
  return recording.subscriptions.flatMap((subscription) => {
    const versions = expected.get(subscription.session) ?? [];
    const fault = new Reading(subscription, versions).findFault();
    if (fault === undefined) return [];
    const { subscriber, session } = subscription;
    const message = `${subscriber} on ${session}: ${fault.message}`;
    return [violation('delivered_once_and_whole', message, fault.excerpt.map(toText))];
  });
}

interface Fault {
  readonly message: string;
  readonly excerpt: readonly Delivery[];
}

class Reading {
  readonly #deliveries: readonly Delivery[];
  readonly #expected: readonly number[];
  #cursor: number;
  /** Which of the expected versions is next. */
  #next: number;
  /** The version of a gap for which no snapshot was taken yet. */
  #owed: number | undefined;

  constructor({ from, deliveries }: Subscription, expected: readonly number[]) {
    this.#deliveries = deliveries;
    this.#expected = expected;
    this.#cursor = from;
    this.#next = expected.filter((version) => version <= from).length;
  }

  findFault(): Fault | undefined {
    for (const [at, delivery] of this.#deliveries.entries()) {
      const message = this.#take(delivery);
      const excerpt = this.#deliveries.slice(Math.max(0, at - 2), at + 1);
      if (message !== undefined) return { message, excerpt };
    }
    const missing = this.#expected[this.#next];
    const excerpt = this.#deliveries.slice(-2);
    if (missing !== undefined) return { message: `${missing} was never delivered`, excerpt };
    if (this.#owed === undefined) return undefined;
    return { message: `after the gap up to ${this.#owed} there was no snapshot`, excerpt };
  }

  /** What is wrong with it, if anything. */
  #take(delivery: Delivery): string | undefined {
    const { version } = delivery;
    switch (delivery.kind) {
      case 'refused':
        return undefined;
      case 'forgotten':
        return `cursor ${version} is not known any more`;
      case 'snapshot':
        if (version < (this.#owed ?? 0)) return `the snapshot after ${this.#owed} is of ${version}`;
        this.#owed = undefined;
        return undefined;
      case 'gap':
        return this.#takeGap(version);
      case 'update':
        return this.#takeUpdate(version);
    }
  }

  /** Its own cursor stands at an update; the plane's was there or further on, never behind. */
  #takeGap(version: number): string | undefined {
    if (version < this.#cursor) return `a gap up to ${version} was said after ${this.#cursor}`;
    if (version - this.#cursor <= BACKLOG_EVENTS) {
      return `a gap up to ${version} was said to one who was at ${this.#cursor}`;
    }
    while ((this.#expected[this.#next] ?? Number.POSITIVE_INFINITY) <= version) this.#next += 1;
    this.#cursor = version;
    this.#owed = version;
    return undefined;
  }

  #takeUpdate(version: number): string | undefined {
    if (version <= this.#cursor) return `${version} came after ${this.#cursor}`;
    const missed = this.#expected[this.#next];
    if (missed !== undefined && missed < version) return `${missed} was never delivered`;
    if (missed === version) this.#next += 1;
    this.#cursor = version;
    return undefined;
  }
}

/** By the log, and by what clients were told: a log may have lost something, too. */
function updatesBySession({ logs, operations }: Recording): Map<string, number[]> {
  const versions = new Map<string, Set<number>>();
  const add = (session: string, version: number) => {
    const known = versions.get(session);
    if (known) known.add(version);
    else versions.set(session, new Set([version]));
  };
  for (const [session, { entries }] of logs)
    for (const { version } of entries) add(session, version);
  for (const { session, operation, outcome } of operations) {
    const isUpdate = ['write', 'cas', 'increment'].includes(operation.kind);
    if (!isUpdate || outcome.kind !== 'ok') continue;
    if (outcome.result.version !== undefined) add(session, outcome.result.version);
  }
  return new Map([...versions].map(([session, set]) => [session, [...set].sort((a, b) => a - b)]));
}

function toText(delivery: Delivery): string {
  return `delivered: ${JSON.stringify(delivery)}`;
}
