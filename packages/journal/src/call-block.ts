// Calls as one text: how batches leave the thread of the gateway, and what the file keeps until someone asks.
// A call is the list of its values; names would be half of the text, and half of what writing it costs.

import type { JournalAttempt, JournalCall, JournalCandidate } from '@starloom/core';

export interface CallBlock {
  readonly calls: number;
  readonly text: string;
}

export function toText(call: JournalCall): string {
  return JSON.stringify(fromCall(call));
}

export function toBlock(texts: readonly string[]): CallBlock {
  return { calls: texts.length, text: `[${texts.join()}]` };
}

export function fromBlock(text: string): readonly JournalCall[] {
  return (JSON.parse(text) as unknown[][]).map((list) => {
    const call = toCall(list);
    const [attempts, route] = [call.attempts, call.route] as unknown as Lists;
    const read = { attempts: attempts.map(toAttempt) };
    return { ...call, ...read, ...(route && { route: route.map(toCandidate) }) };
  });
}

type Lists = [attempts: unknown[][], route: unknown[][] | undefined];

// The orders of the values are the format of files: a new one goes to the end of both lists. They are written
// as literals, since a loop over names takes longer than all the rest.

function fromCall(call: JournalCall): readonly unknown[] {
  return [
    call.trace_id,
    call.span_id,
    call.parent_span_id,
    call.gateway,
    call.face,
    call.transport,
    call.tool,
    call.principal,
    call.on_behalf_of,
    call.delegate,
    call.depth,
    call.chain,
    call.agent_id,
    call.capability,
    call.job_id,
    call.session_id,
    call.stream,
    call.admitted_ms,
    call.routed_ms,
    call.route?.map(fromCandidate),
    call.skipped,
    call.rule,
    call.effect,
    call.attempts.map(fromAttempt),
    call.fallback,
    call.events,
    call.first_events,
    call.cost,
    call.bytes_in,
    call.bytes_out,
    call.began_at,
    call.ended_at,
    call.ms,
    call.code,
    call.reason,
    call.message,
    call.input,
    call.output,
  ];
}

const toCall = readerOf<JournalCall>({
  trace_id: false,
  span_id: false,
  parent_span_id: true,
  gateway: false,
  face: false,
  transport: false,
  tool: false,
  principal: true,
  on_behalf_of: false,
  delegate: false,
  depth: false,
  chain: false,
  agent_id: true,
  capability: true,
  job_id: false,
  session_id: false,
  stream: false,
  admitted_ms: false,
  routed_ms: false,
  route: false,
  skipped: false,
  rule: false,
  effect: false,
  attempts: false,
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
  reason: false,
  message: false,
  input: false,
  output: false,
});

function fromAttempt(attempt: JournalAttempt): readonly unknown[] {
  const { span_id, agent_id, node_id, protocol, fallback, began_ms, ms, code } = attempt;
  const { reason, sent } = attempt;
  return [span_id, agent_id, node_id, protocol, fallback, began_ms, ms, code, reason, sent];
}

const toAttempt = readerOf<JournalAttempt>({
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

function fromCandidate(candidate: JournalCandidate): readonly unknown[] {
  const { agent_id, node_id, kind, availability, reason } = candidate;
  return [agent_id, node_id, kind, availability, reason];
}

const toCandidate = readerOf<JournalCandidate>({
  agent_id: false,
  node_id: false,
  kind: false,
  availability: false,
  reason: false,
});

/** The names in the order of their values, and whether `null` is a value; a missing one is written so, too. */
type Layout<Entry> = {
  readonly [Name in keyof Required<Entry>]: null extends Entry[Name] ? true : false;
};

function readerOf<Entry>(layout: Layout<Entry>): (list: readonly unknown[]) => Entry {
  const names = Object.keys(layout) as (keyof Entry)[];
  return (list) => {
    const known = names.map((name, index) => [name, list[index] ?? null] as const);
    const kept = known.filter(([name, value]) => value !== null || layout[name]);
    return Object.fromEntries(kept) as Entry;
  };
}
