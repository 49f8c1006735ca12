import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock, Log } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ToolFate, ToolRequest, Verdict } from '../core/seams.ts';
import { canonicalJson, toWellFormed } from './canonical-json.ts';
import { DecisionLog } from './decision-log.ts';
import { LINEAGE_BOUND } from './labels.ts';
import { sourceOf } from './tool-source.ts';

export interface DecisionsOptions {
  /** `<folder>/decisions/<session>.jsonl`, one file for each session. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How many sessions keep their key at a time; beyond it the quietest ends its run and may begin another. */
const OPEN_LOGS = 1024;

/** Writes down every decision, at once, signed and chained. */
export class Decisions {
  readonly #options: DecisionsOptions;
  readonly #logs = new Map<string, DecisionLog>();
  #failure: string | undefined;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Why a decision on this session could not be written down now; nothing is allowed until it can. */
  failureOf(sessionId: string): string | undefined {
    if (this.#failure) return this.#failure;
    try {
      this.#logOf(sessionId);
      return undefined;
    } catch (error) {
      return describe(error);
    }
  }

  /** Never throws: what cannot be written is logged, and the next call is refused. */
  record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void {
    const { call, origin, sessionId, trace, hop, blocks } = request;
    try {
      this.#logOf(sessionId).append({
        type: 'decision',
        trace_id: trace.trace_id,
        span_id: trace.span_id,
        depth: hop.depth,
        call_id: call.id.toWellFormed(),
        tool: tool.name.toWellFormed(),
        tool_source: sourceOf(tool).toWellFormed(),
        arguments_sha256: digestOf(call.args),
        origin,
        decision: verdict.decision,
        rule: verdict.rule,
        reasons: verdict.reasons.map((reason) => reason.toWellFormed()),
        outcome,
        tainted_by: blocks
          .filter(({ trust }) => trust === 'untrusted')
          .slice(-LINEAGE_BOUND)
          .map(({ id, source }) => ({ id, source: source.toWellFormed() })),
      });
      this.#failure = undefined;
    } catch (error) {
      this.#failure = describe(error);
      const fields = { ...trace, tool: tool.name, error: String(error) };
      this.#options.log.error(fields, 'a decision could not be recorded');
    }
  }

  fileOf(sessionId: string): string {
    return join(this.#options.folder, 'decisions', `${fileNameOf(sessionId)}.jsonl`);
  }

  /** To be kept where whoever can write the file cannot; see `verifyDecisions`. */
  publicKeyOf(sessionId: string): string | undefined {
    return this.#logs.get(sessionId)?.publicKey;
  }

  close(): void {
    for (const sessionId of [...this.#logs.keys()]) this.#end(sessionId);
  }

  #logOf(sessionId: string): DecisionLog {
    const { clock } = this.#options;
    const log =
      this.#logs.get(sessionId) ??
      new DecisionLog({ file: this.fileOf(sessionId), sessionId, clock });
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    const [quietest] = this.#logs.keys();
    if (this.#logs.size > OPEN_LOGS && quietest !== undefined) this.#end(quietest);
    return log;
  }

  #end(sessionId: string): void {
    const log = this.#logs.get(sessionId);
    this.#logs.delete(sessionId);
    try {
      log?.close();
    } catch (error) {
      const fields = { session_id: sessionId, error: String(error) };
      this.#options.log.error(fields, 'a record of decisions could not be closed');
    }
  }
}

function digestOf(args: unknown): string {
  const text = canonicalJson(toWellFormed(JSON.parse(JSON.stringify(args) ?? 'null')));
  return createHash('sha256').update(text).digest('hex');
}

function describe(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** A session id may come from a caller: only a plain one is a file name as it is. */
function fileNameOf(sessionId: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(sessionId)) return sessionId;
  return createHash('sha256').update(sessionId).digest('hex');
}
