// Calls as one text: how batches leave the thread of the gateway, and what the file keeps until someone asks.
// A call is the list of its values; names would be half of the text, and half of what writing it costs.

import type { JournalAttempt, JournalCall, JournalCandidate } from '@starloom/core';

export interface CallBlock {
  readonly calls: number;
  readonly text: string;
}

/** The names in the order of their values, and whether `null` is a value; a missing one is written so, too. */
type Layout<Entry> = {
  readonly [Name in keyof Required<Entry>]: null extends Entry[Name] ? true : false;
};

// Files hold values in these orders: a new name goes to the end.
const attempts = listOf<JournalAttempt>({
  span_id: false,
  agent_id: false,
  node_id: false,
  protocol: false,
  fallback: false,
  began_ms: false,
  ms: true,
  code: true,
  reason: false,
  sent: false,
});

const candidates = listOf<JournalCandidate>({
  agent_id: false,
  node_id: false,
  kind: false,
  availability: false,
  reason: false,
});

const calls = listOf<JournalCall>({
  attempts: false,
  route: false,
  trace_id: false,
  span_id: false,
  parent_span_id: true,
  gateway: false,
  face: false,
  transport: false,
  tool: false,
  principal: true,
  depth: false,
  chain: false,
  agent_id: true,
  capability: true,
  stream: false,
  admitted_ms: false,
  routed_ms: false,
  rule: false,
  fallback: false,
  events: false,
  first_events: false,
  cost: false,
  bytes_in: false,
  bytes_out: false,
  began_at: false,
  ended_at: true,
  ms: true,
  code: true,
  effect: false,
  skipped: false,
  reason: false,
  message: false,
  on_behalf_of: false,
  delegate: false,
  job_id: false,
  session_id: false,
  input: false,
  output: false,
});

export function toBlock(entries: readonly JournalCall[]): CallBlock {
  const values = entries.map((call) => {
    const list = calls.toList(call);
    list[0] = call.attempts.map(attempts.toList);
    list[1] = call.route?.map(candidates.toList);
    return list;
  });
  return { calls: entries.length, text: JSON.stringify(values) };
}

export function fromBlock(text: string): readonly JournalCall[] {
  const lists = JSON.parse(text) as [tried: unknown[][], route: unknown[][] | null][];
  return lists.map(([tried, route, ...rest]) =>
    calls.fromList([
      tried.map(attempts.fromList),
      route?.map(candidates.fromList) ?? null,
      ...rest,
    ]),
  );
}

function listOf<Entry>(layout: Layout<Entry>) {
  const names = Object.keys(layout) as (keyof Entry)[];
  return {
    toList: (entry: Entry): unknown[] => names.map((name) => entry[name]),
    fromList: (list: readonly unknown[]): Entry => {
      const known = names.map((name, index) => [name, list[index] ?? null] as const);
      return Object.fromEntries(
        known.filter(([name, value]) => value !== null || layout[name]),
      ) as Entry;
    },
  };
}
