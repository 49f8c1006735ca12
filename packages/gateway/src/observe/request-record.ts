// What is written of a request that was no call of an agent, when it ends: its numbers, its span, its
// line in the log and, where it did or was refused something, its entry in the journal.

import { ERRORS, FabricError, isErrorCode, isObject } from '@starloom/core';
import type { ActiveRequest } from './active-request.ts';
import { addFailure, clipName } from './journal-recorder.ts';
import type { ObserverParts, RequestStart } from './observer.ts';
import { toErrorFields } from './redact.ts';
import { recordRequestSpan } from './spans.ts';

/** What a request would have called. */
export interface Target {
  readonly agent_id?: string | undefined;
  readonly capability: string;
}

interface EndedRequest {
  readonly transport: RequestStart['transport'];
  readonly method: string;
  /** Of a tool, or empty. */
  readonly name: string;
  readonly requestId: string | number | undefined;
  readonly error: FabricError | undefined;
  /** The kind that was refused. */
  readonly credential: string | undefined;
  readonly target: Target | undefined;
  readonly ms: number;
}

type RequestOwner = Pick<ActiveRequest, 'face' | 'principal' | 'trace'>;

export function recordRequest(
  request: RequestOwner,
  ended: EndedRequest,
  parts: ObserverParts,
): void {
  const { face, principal } = request;
  const { transport, method, name, requestId, error, ms } = ended;
  const code = error?.code ?? null;
  parts.metrics.requestEnded({ face, method, code, ms });
  if (!principal && error && !parts.refusals.mayWrite()) return;
  if (parts.tracing.enabled) {
    const hash = parts.hashes.of(principal?.id ?? null);
    const about = { face, transport, method, name, requestId, principal: hash, code };
    recordRequestSpan(parts, about, request.trace, ms, error);
  }
  writeLine(request, ended, parts);
  addToJournal(request, ended, parts);
}

function writeLine(
  { trace, face, principal }: RequestOwner,
  { transport, method, name, error, credential, ms }: EndedRequest,
  { rootLog, hashes }: ObserverParts,
): void {
  const level = error?.row.log ?? 'info';
  if (!rootLog.isEnabled(level)) return;
  const fields = {
    trace_id: trace.trace_id,
    span_id: trace.span_id,
    principal: hashes.of(principal?.id ?? null),
    face,
    transport,
    method,
    name: name || undefined,
    ok: error === undefined,
    code: error?.code ?? null,
    ms,
    credential,
    error: error && toErrorFields(error),
  };
  rootLog.writeClean(level, fields, 'request');
}

/** Calls of our own tools and methods, and what was refused; without a caller it belongs to no one. */
function addToJournal(
  request: RequestOwner,
  { transport, method, name, error, target, ms }: EndedRequest,
  { recorder, clock }: ObserverParts,
): void {
  const { principal, face } = request;
  const tool = name || method;
  if (!recorder || !principal || (!error && !isWorthRecording(face, method, tool))) return;
  // The page reads what happened; that it asked for something unknown is no call.
  if (face === 'console' && !target) return;
  const beganAt = Math.round(clock.now() - ms);
  const draft = recorder.draft({ trace: request.trace, transport, face, tool, principal, beganAt });
  draft.agent_id = clipName(target?.agent_id);
  draft.capability = clipName(target?.capability);
  draft.ms = ms;
  draft.ended_at = Math.round(draft.began_at + ms);
  if (error) addFailure(draft, error);
  recorder.ended(draft);
}

/** Signs of life, and readers of the journal itself, would fill it. */
const UNRECORDED = /heartbeat$|^fabric[._](?:calls|usage|health|job[._]list)/;

function isWorthRecording(face: string, method: string, tool: string): boolean {
  if (UNRECORDED.test(tool)) return false;
  return method === 'tools/call' || face === 'rpc' || face === 'a2a';
}

/** An error of ours says its code itself; else it is the row of its number. */
export function fromRpcError(error: unknown): FabricError {
  const { code, message, data } = isObject(error) ? error : {};
  const said = isObject(data) ? (isObject(data.error) ? data.error : data) : {};
  const { code: named, reason, details: why = message } = said;
  const [row] = Object.entries(ERRORS).find(([, { rpc }]) => rpc === code) ?? [];
  const own = isErrorCode(named) ? named : isErrorCode(row) ? row : 'BAD_INPUT';
  return new FabricError(own, typeof why === 'string' ? why : String(message ?? ''), {
    details: { rpc_code: code, ...(typeof reason === 'string' && { reason }) },
  });
}

const REFUSALS_PER_SECOND = 100;

/** Requests without a credential that holds must not fill the log, however many there are. */
export class RefusalLines {
  readonly #parts: Pick<ObserverParts, 'clock' | 'rootLog'>;
  #second = 0;
  #count = 0;

  constructor(parts: Pick<ObserverParts, 'clock' | 'rootLog'>) {
    this.#parts = parts;
  }

  mayWrite(): boolean {
    const second = Math.floor(this.#parts.clock.monotonic() / 1_000);
    if (second !== this.#second) {
      const left = this.#count - REFUSALS_PER_SECOND;
      if (left > 0) this.#parts.rootLog.log.warn({ requests: left }, 'more requests were refused');
      this.#second = second;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= REFUSALS_PER_SECOND;
  }
}
