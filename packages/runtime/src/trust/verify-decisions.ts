// Checks a record of decisions. What it finds: a line changed, removed, added or moved; a run signed
// with another key than expected; a run that was not closed, which is a crash, a run still going on, or
// a cut. What it cannot: whole runs taken from the end, or a file replaced by one with keys of its own,
// unless the caller knows the keys; `publicKeyOf` gives them while the session runs.

import { readFile } from 'node:fs/promises';
import { canonicalJson } from './canonical-json.ts';
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
  | 'missing_run'
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
  /** Public keys of the runs, in order. */
  readonly keys: readonly string[];
  readonly problems: readonly DecisionProblem[];
  /** Runs without their end: cut off, crashed, or still going on. */
  readonly truncated: number;
}

export interface VerifyDecisionsOptions {
  /** Of every run there should be: a run with another key, or none with one of these, is a problem. */
  readonly publicKeys?: readonly string[];
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
  readonly #keys: string[] = [];
  #line = 0;
  #prev = FIRST_LINK;
  #open = false;
  #truncated = 0;
  #decisions = 0;

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
      this.#options.onDecision?.(record);
    }
    this.#open = record.type !== 'close';
  }

  report(): DecisionReport {
    const truncated = this.#truncated + (this.#open || this.#line === 0 ? 1 : 0);
    for (const key of this.#options.publicKeys ?? []) {
      if (!this.#keys.includes(key)) {
        this.#problems.push({ line: this.#line + 1, flaw: 'missing_run' });
      }
    }
    return {
      intact: this.#problems.length === 0 && truncated === 0,
      decisions: this.#decisions,
      keys: this.#keys,
      problems: this.#problems,
      truncated,
    };
  }

  #flawOf(record: ChainRecord, line: string): DecisionFlaw | undefined {
    if (record.type === 'open') {
      if (this.#open) this.#truncated += 1;
      this.#keys.push(record.public_key);
    } else if (!this.#open) {
      return 'no_run';
    }
    const key = this.#keys.at(-1) ?? '';
    if (canonicalJson(record) !== line) return 'not_canonical';
    if (record.seq !== this.#line) return 'out_of_order';
    if (record.prev !== this.#prev) return 'broken_chain';
    if (!isSignedBy(record, key)) return 'bad_signature';
    const { publicKeys } = this.#options;
    return publicKeys && !publicKeys.includes(key) ? 'unknown_key' : undefined;
  }
}

function parseRecord(line: string): ChainRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
