// Calls as one text: how batches leave the thread of the gateway, and what the file keeps until someone asks.
// A call is the list of its values, with times in whole microseconds; names and fractions would be most of what
// writing it costs. What calls to the same tool by the same caller have in common is written once, as their kind.

import type { JournalAttempt, JournalCall, JournalCandidate } from '@starloom/core';

export interface CallBlock {
  readonly calls: number;
  readonly text: string;
}

/** How many of the newest kinds a call is compared with. */
const MAX_COMPARED = 4;

/** Collects the calls of a block. Their texts wait, not the calls: the garbage collector would copy those. */
export class BlockWriter {
  #kinds: JournalCall[] = [];
  #texts: string[] = [];

  get calls(): number {
    return this.#texts.length;
  }

  add(call: JournalCall): void {
    this.#texts.push(JSON.stringify(fromCall(call, this.#kindOf(call))));
  }

  take(): CallBlock {
    const kinds = JSON.stringify(this.#kinds.map(fromKind));
    const block = {
      calls: this.#texts.length,
      text: `{"kinds":${kinds},"calls":[${this.#texts.join()}]}`,
    };
    this.#kinds = [];
    this.#texts = [];
    return block;
  }

  #kindOf(call: JournalCall): number {
    const kinds = this.#kinds;
    const last = kinds.length - 1;
    for (let at = last; at >= 0 && at > last - MAX_COMPARED; at -= 1) {
      const kind = kinds[at];
      if (kind && isSameKind(kind, call)) return at;
    }
    return kinds.push(call) - 1;
  }
}

interface ReadBlock {
  readonly kinds: readonly (readonly unknown[])[];
  readonly calls: readonly (readonly unknown[])[];
}

export function fromBlock(text: string): readonly JournalCall[] {
  const block = JSON.parse(text) as ReadBlock | unknown[][];
  if (Array.isArray(block)) return block.map((list) => withLists(named(OLDER, list), 1));
  return block.calls.map(([kind, ...own]) => {
    const shared = named(KIND, block.kinds[Number(kind)] ?? []);
    return withLists({ ...shared, ...named(OWN, own) }, 1_000);
  });
}

// The orders of the values are the format of files: a new one goes to the end of its list. They are written
// as literals, since a loop over names takes longer than all the rest.

const KIND = [
  ...['gateway', 'face', 'transport', 'tool', 'principal', 'on_behalf_of', 'delegate', 'depth'],
  ...['chain', 'agent_id', 'capability', 'stream', 'route', 'rule', 'effect', 'fallback', 'cost'],
];

function fromKind(call: JournalCall): readonly unknown[] {
  return [
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
    call.stream,
    call.route?.map(fromCandidate),
    call.rule,
    call.effect,
    call.fallback,
    call.cost,
  ];
}

/** Routes are the same where their candidates are the same objects. */
function isSameKind(kind: JournalCall, call: JournalCall): boolean {
  return (
    kind.tool === call.tool &&
    kind.agent_id === call.agent_id &&
    kind.capability === call.capability &&
    kind.principal === call.principal &&
    kind.face === call.face &&
    kind.transport === call.transport &&
    kind.gateway === call.gateway &&
    kind.on_behalf_of === call.on_behalf_of &&
    kind.delegate === call.delegate &&
    kind.depth === call.depth &&
    kind.stream === call.stream &&
    kind.rule === call.rule &&
    kind.effect === call.effect &&
    kind.fallback === call.fallback &&
    kind.cost === call.cost &&
    isSameList(kind.chain, call.chain) &&
    isSameList(kind.route, call.route)
  );
}

function isSameList(
  one: readonly unknown[] | undefined,
  other: readonly unknown[] | undefined,
): boolean {
  if (one === other) return true;
  if (!one || !other || one.length !== other.length) return false;
  return one.every((value, index) => value === other[index]);
}

const OWN = [
  ...['trace_id', 'span_id', 'parent_span_id', 'admitted_ms', 'routed_ms', 'attempts', 'events'],
  ...['first_events', 'bytes_in', 'bytes_out', 'began_at', 'ended_at', 'ms', 'code', 'reason'],
  ...['message', 'skipped', 'job_id', 'session_id', 'input', 'output'],
];

function fromCall(call: JournalCall, kind: number): readonly unknown[] {
  const list: unknown[] = [
    kind,
    call.trace_id,
    call.span_id,
    call.parent_span_id,
    toMicroseconds(call.admitted_ms),
    toMicroseconds(call.routed_ms),
    call.attempts.map(fromAttempt),
    call.events,
    call.first_events.map(([type, ms]) => [type, toMicroseconds(ms)]),
    call.bytes_in,
    call.bytes_out,
    call.began_at,
    call.ended_at,
    toMicroseconds(call.ms),
  ];
  const { code, skipped, job_id, session_id, input, output } = call;
  const isPlain = code === null && !skipped && !job_id && !session_id && !input && !output;
  if (!isPlain)
    list.push(code, call.reason, call.message, skipped, job_id, session_id, input, output);
  return list;
}

/** The one order of blocks that were written before there were kinds. */
const OLDER = [
  ...['trace_id', 'span_id', 'parent_span_id', 'gateway', 'face', 'transport', 'tool', 'principal'],
  ...['on_behalf_of', 'delegate', 'depth', 'chain', 'agent_id', 'capability', 'job_id'],
  ...['session_id', 'stream', 'admitted_ms', 'routed_ms', 'route', 'skipped', 'rule', 'effect'],
  ...['attempts', 'fallback', 'events', 'first_events', 'cost', 'bytes_in', 'bytes_out'],
  ...['began_at', 'ended_at', 'ms', 'code', 'reason', 'message', 'input', 'output'],
];

const ATTEMPT = [
  ...['span_id', 'agent_id', 'node_id', 'protocol', 'fallback', 'began_ms', 'ms', 'code'],
  ...['reason', 'sent'],
];

function fromAttempt(attempt: JournalAttempt): readonly unknown[] {
  const { span_id, agent_id, node_id, protocol, fallback, code, reason, sent } = attempt;
  const began = toMicroseconds(attempt.began_ms);
  const took = toMicroseconds(attempt.ms);
  return [span_id, agent_id, node_id, protocol, fallback, began, took, code, reason, sent];
}

const CANDIDATE = ['agent_id', 'node_id', 'kind', 'availability', 'reason'];

function fromCandidate(candidate: JournalCandidate): readonly unknown[] {
  const { agent_id, node_id, kind, availability, reason } = candidate;
  return [agent_id, node_id, kind, availability, reason];
}

function toMicroseconds(ms: number | null | undefined): number | null {
  return ms === undefined || ms === null ? null : Math.round(ms * 1_000);
}

type Values = Record<string, unknown>;

/** What `null` is a value of; elsewhere it stands for a value that is not there. */
const NULLABLE: ReadonlySet<string> = new Set([
  ...['parent_span_id', 'principal', 'agent_id', 'capability', 'ended_at', 'ms', 'code'],
]);

function named(names: readonly string[], list: readonly unknown[]): Values {
  const known = names.map((name, index) => [name, list[index] ?? null] as const);
  return Object.fromEntries(known.filter(([name, value]) => value !== null || NULLABLE.has(name)));
}

const TIMES = ['admitted_ms', 'routed_ms', 'began_ms', 'ms'];

/** `perMs`: how many units of the block are a millisecond. */
function withLists(values: Values, perMs: number): JournalCall {
  const { attempts, route, first_events, ...call } = values as Values & Record<string, unknown[][]>;
  const inMs = (timed: Values): Values => {
    for (const name of TIMES) {
      const time = timed[name];
      if (typeof time === 'number') timed[name] = time / perMs;
    }
    return timed;
  };
  return {
    ...inMs(call),
    attempts: attempts?.map((list) => inMs(named(ATTEMPT, list))),
    first_events: first_events?.map(([type, time]) => [type, Number(time) / perMs]),
    ...(route && { route: route.map((list) => named(CANDIDATE, list)) }),
  } as unknown as JournalCall;
}
