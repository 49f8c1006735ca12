// Writes down every decision at once, and signs soon after: one signature covers all decisions since the
// last one. A crash leaves at most a tail without a signature, and `verifyDecisions` says how long it is.

import { generateKeyPairSync, sign } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Clock,
  canonicalJson,
  type Log,
  type LogFields,
  sha256Hex,
  toWellFormed,
} from '@starloom/core';
import { Chain, chainFileName, type Extension } from '@starloom/identity/chained-log';
import type { ITool } from '@starloom/sdk';
import type { PlannedStep, ToolFate, ToolRequest, Verdict } from '../core/seams.ts';
import { LINEAGE_BOUND } from '../trust/labels.ts';
import { sourceOf } from '../trust/tool-name.ts';
import { type DecisionBody, encodeDecision } from './decision-record.ts';

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
  #record: DecisionFile | undefined;
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

  /** What the model planned for a turn, before the calls that rest on it. */
  recordPlan({ sessionId, trace }: ToolRequest, steps: readonly PlannedStep[]): void {
    try {
      const known = { session_id: sessionId.toWellFormed(), trace_id: trace.trace_id };
      this.#open().append({ type: 'plan', ...known, steps: toWellFormed(steps) as PlannedStep[] });
      this.#sealSoon();
    } catch (error) {
      this.#fail(error, { ...trace }, 'a plan could not be recorded');
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

  #open(): DecisionFile {
    const { folder, clock } = this.#options;
    if (this.#record === undefined || this.#record.isOver) {
      this.#record = new DecisionFile(join(folder, 'decisions'), clock);
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

/**
 * The record of one run, signed with a key that only this run ever has. Every line is in the file when the
 * call returns. Once it is closed, or a line could not be written, it is over: later decisions belong into
 * another one.
 */
class DecisionFile {
  readonly file: string;
  readonly publicKey: string;
  readonly #clock: Clock;
  readonly #chain: Chain;
  isOver = false;

  constructor(folder: string, clock: Clock) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.file = join(folder, chainFileName(clock.now()));
    this.publicKey = publicKey.export({ format: 'jwk' }).x ?? '';
    this.#clock = clock;
    this.#chain = new Chain({
      clock,
      encode: encodeDecision,
      sign: (bytes) => sign(null, bytes, privateKey).toString('base64url'),
    });
    this.#write(this.#chain.sign({ type: 'open', version: 2, public_key: this.publicKey }));
  }

  get unsealed(): number {
    return this.#chain.unsealed;
  }

  append(decision: DecisionBody): void {
    this.#write(this.#chain.extend([{ entry: decision, at: this.#clock.now() }]));
  }

  seal(): void {
    if (this.unsealed > 0) this.#write(this.#chain.sign({ type: 'seal' }));
  }

  close(): void {
    this.#write(this.#chain.sign({ type: 'close' }));
    this.isOver = true;
  }

  #write(extension: Extension): void {
    try {
      appendFileSync(this.file, extension.text, { mode: 0o600 });
    } catch (error) {
      this.isOver = true;
      throw error;
    }
    this.#chain.accept(extension);
  }
}

function digestOf(args: unknown): string {
  const text = canonicalJson(toWellFormed(JSON.parse(JSON.stringify(args) ?? 'null')));
  return sha256Hex(text);
}

function describe(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
