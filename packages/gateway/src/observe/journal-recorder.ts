// Collects what the journal says of a call while it runs. A call is written when it ends, and once before that
// when it takes long: people see what runs. Every text is shortened here; agents and callers choose many of them.

import {
  type Clock,
  type EventType,
  type FabricError,
  type Journal,
  type JournalAttempt,
  type JournalCall,
  type JournalCandidate,
  type JournalFace,
  type Manifest,
  Roster,
  type Trace,
} from '@starloom/core';
import { onBehalfOf, type Principal } from '@starloom/identity';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import type { PreparedCall } from '../pipeline/prepare.ts';
import { type Candidate, reasonOf } from '../pipeline/route.ts';
import { clip } from './log-lines.ts';
import { redactFields, redactText } from './redact.ts';

export interface JournalOptions {
  readonly journal: Journal;
  /** The node of this gateway. */
  readonly gateway: string;
  readonly payloads: 'none' | 'redacted';
}

/** A call that is being written down. */
export type CallDraft = { -readonly [Key in keyof JournalCall]: JournalCall[Key] } & {
  attempts: AttemptDraft[];
  first_events: [type: EventType, ms: number][];
  events: Partial<Record<EventType, number>>;
};

export type AttemptDraft = { -readonly [Key in keyof JournalAttempt]: JournalAttempt[Key] };

export interface DraftStart {
  readonly trace: Trace;
  readonly parentSpanId?: string | undefined;
  readonly transport: string;
  readonly face: JournalFace;
  readonly tool: string;
  readonly principal: Principal | undefined;
  readonly beganAt: number;
}

const NO_CHAIN: readonly string[] = [];
/** Older calls than this are shown while they run. */
const SWEEP_MS = 500;
const MAX_NAME = 200;
const MAX_MESSAGE = 500;
const MAX_PAYLOAD = 8_192;
const MAX_FIRST_EVENTS = 32;
const MAX_ATTEMPTS = 32;
const MAX_CANDIDATES = 16;
const MAX_CHAIN = 32;
/** Refusals of a caller that is too fast must not push everything else out of the ring. */
const MAX_LIMITED_PER_SECOND = 20;

export class JournalRecorder {
  readonly #options: JournalOptions;
  readonly #clock: Clock;
  readonly #running = new Roster<CallDraft>();
  readonly #shown = new WeakSet<CallDraft>();
  readonly #timer: NodeJS.Timeout;
  #second = 0;
  #limited = 0;

  constructor(options: JournalOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  get keepsPayloads(): boolean {
    return this.#options.payloads === 'redacted';
  }

  /** One literal, without spreads: every call makes one. */
  draft(start: DraftStart): CallDraft {
    const { trace, principal } = start;
    const draft: CallDraft = {
      trace_id: trace.trace_id,
      span_id: trace.span_id,
      parent_span_id: start.parentSpanId ?? trace.parent_span_id,
      gateway: this.#options.gateway,
      face: start.face,
      transport: start.transport,
      tool: clip(start.tool, MAX_NAME),
      principal: principal ? clip(principal.id, MAX_NAME) : null,
      depth: 1,
      chain: NO_CHAIN,
      agent_id: null,
      capability: null,
      stream: false,
      attempts: [],
      fallback: false,
      events: {},
      first_events: [],
      bytes_in: 0,
      bytes_out: 0,
      began_at: start.beganAt,
      ended_at: null,
      ms: null,
      code: null,
    };
    if (principal?.delegation) {
      const behalf = onBehalfOf(principal);
      if (behalf !== principal.id) draft.on_behalf_of = clip(behalf, MAX_NAME);
      draft.delegate = clip(principal.delegation.delegateId, MAX_NAME);
    }
    return draft;
  }

  /** Returns the place to give to `ended`. */
  began(draft: CallDraft): number {
    return this.#running.add(draft);
  }

  ended(draft: CallDraft, place?: number): void {
    if (place !== undefined) this.#running.remove(place);
    if (draft.code === 'RATE_LIMITED' && !this.#mayWriteLimited()) return;
    this.#options.journal.write(draft);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    if (this.#running.size === 0) return;
    for (const draft of this.#running.members()) {
      const isOld = this.#clock.now() - draft.began_at >= SWEEP_MS;
      if (!isOld || this.#shown.has(draft)) continue;
      this.#shown.add(draft);
      this.#options.journal.write({ ...draft });
    }
  }

  #mayWriteLimited(): boolean {
    const second = Math.floor(this.#clock.monotonic() / 1_000);
    if (second !== this.#second) this.#limited = 0;
    this.#second = second;
    this.#limited += 1;
    return this.#limited <= MAX_LIMITED_PER_SECOND;
  }
}

export function faceOf(caller: Caller): JournalFace {
  return caller.isStored ? 'job' : (caller.request?.face ?? 'mcp');
}

export function addRequest(
  draft: CallDraft,
  { request, chain }: { readonly request: CallRequest; readonly chain: readonly string[] },
  payloads: boolean,
): void {
  if (chain.length > 0) draft.chain = chain.slice(-MAX_CHAIN);
  const { task, arguments: given, context, attachments, session_id } = request;
  draft.agent_id = request.agent_id === undefined ? null : clip(request.agent_id, MAX_NAME);
  draft.capability = clip(request.capability, MAX_NAME);
  draft.stream = request.stream;
  if (session_id !== undefined) draft.session_id = clip(session_id, MAX_NAME);
  draft.bytes_in = sizeOf([task, given, context, attachments]);
  if (payloads) draft.input = toPayloadText({ task, arguments: given, context });
}

export function addRoute(draft: CallDraft, prepared: PreparedCall): void {
  const { candidates, skipped, request, caller } = prepared;
  const [{ record, capability, decision }] = candidates;
  const primaryId = record.manifest.agent_id;
  draft.agent_id = primaryId;
  draft.capability = clip(capability.name, MAX_NAME);
  draft.route = candidates
    .slice(0, MAX_CANDIDATES)
    .map((candidate) => toJournalCandidate(candidate, primaryId, request));
  if (skipped.length > 0) draft.skipped = skipped.slice(0, MAX_CANDIDATES);
  if (decision.rule !== undefined) draft.rule = decision.rule;
  if (decision.effect !== 'allow') draft.effect = decision.effect;
  if (capability.cost !== undefined && !caller.isStored) draft.cost = capability.cost;
}

interface UsualCandidate {
  readonly status: string;
  readonly entry: JournalCandidate;
}

/** Of agents that serve a call as it was asked for: one object for all such calls, which is written once. */
const usual = new WeakMap<Manifest, UsualCandidate>();

function toJournalCandidate(
  candidate: Candidate,
  primaryId: string,
  request: CallRequest,
): JournalCandidate {
  const { record, capability, kind, availability, place } = candidate;
  const { manifest, health } = record;
  const isUsual =
    kind === 'primary' &&
    availability === 'ready' &&
    place === '' &&
    request.agent_id !== undefined &&
    (!request.stream || capability.streaming);
  const known = isUsual ? usual.get(manifest) : undefined;
  if (known?.status === health.status) return known.entry;
  const { agent_id, node_id } = manifest;
  const reason = clip(reasonOf(candidate, primaryId, request), MAX_NAME);
  const entry = { agent_id, node_id, kind, availability, reason };
  if (isUsual) usual.set(manifest, { status: health.status, entry });
  return entry;
}

export function addAttempt(draft: CallDraft, attempt: AttemptDraft): void {
  if (draft.attempts.length < MAX_ATTEMPTS) draft.attempts.push(attempt);
  draft.fallback = attempt.fallback;
}

export function addEvent(draft: CallDraft, type: EventType, ms: number): void {
  draft.events[type] = (draft.events[type] ?? 0) + 1;
  if (draft.first_events.length < MAX_FIRST_EVENTS) draft.first_events.push([type, ms]);
}

export function addFailure(draft: CallDraft, { code, message, details }: FabricError): void {
  draft.code = code;
  draft.message = clip(redactText(message), MAX_MESSAGE);
  if (typeof details.reason === 'string') draft.reason = clip(details.reason, MAX_NAME);
  if (typeof details.rule === 'string') draft.rule ??= clip(details.rule, MAX_NAME);
}

export function toPayloadText(fields: Readonly<Record<string, unknown>>): string {
  return clip(JSON.stringify(redactFields(fields)), MAX_PAYLOAD);
}

const MAX_VALUES = 10_000;

export function clipName(name: string | undefined): string | null {
  return name === undefined ? null : clip(name, MAX_NAME);
}

let left = 0;

/** About how many bytes the texts of a value have: those of JSON without its signs. */
export function sizeOf(value: unknown): number {
  left = MAX_VALUES;
  return sizeWithin(value);
}

function sizeWithin(value: unknown): number {
  left -= 1;
  if (left < 0 || value === null) return 0;
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object') return value === undefined ? 0 : 8;
  let size = 0;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left > 0; at += 1) size += sizeWithin(value[at]);
    return size;
  }
  for (const key in value) {
    if (left <= 0) break;
    size += key.length + sizeWithin((value as Record<string, unknown>)[key]);
  }
  return size;
}
