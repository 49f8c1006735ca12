// Writes down every decision at once, and signs soon after: one signature covers all that was decided
// since the last one. A crash leaves at most a tail that nothing has signed, and `verifyDecisions` says
// how long it is.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Clock, canonicalJson, type Log, type LogFields, toWellFormed } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ToolFate, ToolRequest, Verdict } from '../core/seams.ts';
import { DecisionLog } from './decision-log.ts';
import { LINEAGE_BOUND } from './labels.ts';
import { sourceOf } from './tool-source.ts';

export interface DecisionsOptions {
  /** `<folder>/decisions/<time>-<random>.jsonl`, one file for each run. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long a decision waits for its signature, and how many may wait. */
const SEAL_AFTER_MS = 100;
const MAX_UNSEALED = 256;

export class Decisions {
  readonly #options: DecisionsOptions;
  #record: DecisionLog | undefined;
  #sealing: NodeJS.Timeout | undefined;
  #failure: string | undefined;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Why a decision could not be written down now; nothing is allowed until it can. */
  failure(): string | undefined {
    if (this.#failure) return this.#failure;
    try {
      this.#open();
      return undefined;
    } catch (error) {
      return describe(error);
    }
  }

  /** Never throws: what cannot be written is logged, and the next call is refused. */
  record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void {
    const { call, origin, sessionId, trace, hop, blocks } = request;
    try {
      this.#open().append({
        type: 'decision',
        session_id: sessionId.toWellFormed(),
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
      this.#sealSoon();
    } catch (error) {
      this.#fail(error, { ...trace, tool: tool.name }, 'a decision could not be recorded');
    }
  }

  /** Of this run; `undefined` before the first call is judged. */
  get file(): string | undefined {
    return this.#record?.file;
  }

  /** Keep it where those who can write the file cannot write; see `verifyDecisions`. */
  get publicKey(): string | undefined {
    return this.#record?.publicKey;
  }

  close(): void {
    clearTimeout(this.#sealing);
    if (this.#record?.isOver) return;
    try {
      this.#record?.close();
    } catch (error) {
      this.#fail(error, {}, 'the record of decisions could not be closed');
    }
  }

  #open(): DecisionLog {
    const { folder, clock } = this.#options;
    if (this.#record === undefined || this.#record.isOver) {
      this.#record = new DecisionLog(join(folder, 'decisions'), clock);
    }
    return this.#record;
  }

  #sealSoon(): void {
    if ((this.#record?.unsealed ?? 0) >= MAX_UNSEALED) this.#seal();
    this.#sealing ??= setTimeout(() => this.#seal(), SEAL_AFTER_MS).unref();
  }

  #seal(): void {
    clearTimeout(this.#sealing);
    this.#sealing = undefined;
    if (this.#record?.isOver) return;
    try {
      this.#record?.seal();
    } catch (error) {
      this.#fail(error, {}, 'decisions could not be signed');
    }
  }

  #fail(error: unknown, fields: LogFields, message: string): void {
    this.#failure = describe(error);
    this.#options.log.error({ ...fields, error: String(error) }, message);
  }
}

function digestOf(args: unknown): string {
  const text = canonicalJson(toWellFormed(JSON.parse(JSON.stringify(args) ?? 'null')));
  return createHash('sha256').update(text).digest('hex');
}

function describe(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
