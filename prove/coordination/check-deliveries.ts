// A subscriber gets every update after its cursor, in order and once, or is told of the gap.

import type { Delivery, Recording, Subscription } from './history.ts';
import { type Violation, violation } from './violation.ts';

export function checkDeliveries(recording: Recording): readonly Violation[] {
  const expected = updatesBySession(recording);
  return recording.subscriptions.flatMap((subscription) =>
    checkSubscription(subscription, expected.get(subscription.session) ?? []),
  );
}

function checkSubscription(
  { subscriber, session, from, deliveries }: Subscription,
  expected: readonly number[],
): readonly Violation[] {
  let cursor = from;
  let next = expected.findIndex((version) => version > from);
  if (next < 0) next = expected.length;
  for (const [at, delivery] of deliveries.entries()) {
    const excerpt = deliveries.slice(Math.max(0, at - 2), at + 1).map(toText);
    const found = (message: string) => [
      violation('delivered_once_and_whole', `${subscriber} on ${session}: ${message}`, excerpt),
    ];
    const { version } = delivery;
    if (delivery.kind === 'refused') continue;
    if (delivery.kind === 'forgotten') return found(`cursor ${version} is not known any more`);
    if (delivery.kind === 'gap') {
      if (version < cursor) return found(`a gap up to ${version} was said after ${cursor}`);
      while ((expected[next] ?? Number.POSITIVE_INFINITY) <= version) next += 1;
      cursor = version;
      continue;
    }
    if (version <= cursor) return found(`${version} came after ${cursor}`);
    const missed = expected[next];
    if (missed !== undefined && missed < version) return found(`${missed} was never delivered`);
    if (missed === version) next += 1;
    cursor = version;
  }
  const missing = expected[next];
  if (missing === undefined) return [];
  const message = `${subscriber} on ${session}: ${missing} was never delivered`;
  return [violation('delivered_once_and_whole', message, deliveries.slice(-2).map(toText))];
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
