// Checks the record of a run. What it finds: a line changed, removed, added or moved; a run signed with
// another key than expected; a run that was not closed, which is a crash, a run still going on, or a
// cut. Of such a run it says how many decisions at the end nothing has signed: their order is checked,
// their words are not proven. What it cannot find: a whole file taken away, or replaced by one with a
// key of its own, unless the caller knows the keys; `publicKey` of `Decisions` gives them.

import { readFile } from 'node:fs/promises';
import { canonicalJson } from '@starloom/core';
import {
  type ChainRecord,
  type DecisionRecord,
  FIRST_LINK,
  isSignedBy,
  linkOf,
  recordSchema,
} from './decision-chain.ts';

export type DecisionFlaw =
  | 'unreadable'
  | 'not_canonical'
  | 'out_of_order'
  | 'broken_chain'
  | 'bad_signature'
  | 'unknown_key'
  | 'no_run';

export interface DecisionProblem {
  /** From 1. */
  readonly line: number;
  readonly flaw: DecisionFlaw;
}

export interface DecisionReport {
  /** Every line is as it was written, and nothing is missing at the end. */
  readonly intact: boolean;
  readonly decisions: number;
  /** Those at the end that no signature covers; none in a run that was closed. */
  readonly unsealed: number;
  /** Of the run; absent when the file does not say. */
  readonly publicKey?: string;
  readonly problems: readonly DecisionProblem[];
  /** The run has no end: cut off, crashed, or still going on. */
  readonly truncated: boolean;
}

export interface VerifyDecisionsOptions {
  /** A run with another key is a problem. */
  readonly publicKey?: string;
  readonly onDecision?: (record: DecisionRecord) => void;
}

export async function verifyDecisions(
  file: string,
  options: VerifyDecisionsOptions = {},
): Promise<DecisionReport> {
  const check = new ChainCheck(options);
  const lines = (await readFile(file, 'utf8')).split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) check.take(line);
  return check.report();
}

class ChainCheck {
  readonly #options: VerifyDecisionsOptions;
  readonly #problems: DecisionProblem[] = [];
  #publicKey: string | undefined;
  #line = 0;
  #prev = FIRST_LINK;
  #isOpen = false;
  #isClosed = false;
  #decisions = 0;
  #unsealed = 0;

  constructor(options: VerifyDecisionsOptions) {
    this.#options = options;
  }

  take(line: string): void {
    this.#line += 1;
    const record = parseRecord(line);
    const flaw = record ? this.#flawOf(record, line) : 'unreadable';
    if (flaw) this.#problems.push({ line: this.#line, flaw });
    this.#prev = linkOf(line);
    if (!record) return;
    if (record.type === 'decision') {
      this.#decisions += 1;
      this.#unsealed += 1;
      this.#options.onDecision?.(record);
    } else if (!flaw) {
      this.#unsealed = 0;
    }
    this.#isClosed = record.type === 'close';
  }

  report(): DecisionReport {
    const truncated = !this.#isClosed;
    return {
      intact: this.#problems.length === 0 && !truncated,
      decisions: this.#decisions,
      unsealed: this.#unsealed,
      ...(this.#publicKey !== undefined && { publicKey: this.#publicKey }),
      problems: this.#problems,
      truncated,
    };
  }

  #flawOf(record: ChainRecord, line: string): DecisionFlaw | undefined {
    if (record.type === 'open' && !this.#isOpen) {
      this.#isOpen = true;
      this.#publicKey = record.public_key;
    }
    if (!this.#isOpen || this.#isClosed) return 'no_run';
    if (canonicalJson(record) !== line) return 'not_canonical';
    if (record.seq !== this.#line) return 'out_of_order';
    if (record.prev !== this.#prev) return 'broken_chain';
    if (record.type === 'decision') return undefined;
    const key = this.#publicKey ?? '';
    if (!isSignedBy(record, key)) return 'bad_signature';
    return (this.#options.publicKey ?? key) === key ? undefined : 'unknown_key';
  }
}

function parseRecord(line: string): ChainRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
