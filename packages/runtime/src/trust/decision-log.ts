import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, canonicalJson } from '@starloom/core';
import {
  createSigner,
  type DecisionBody,
  FIRST_LINK,
  linkOf,
  type SignedBody,
  toSignedLine,
} from './decision-chain.ts';

/**
 * The record of one run of an agent, in a file of its own and signed with a key that only this run
 * ever has. Every line is in the file when the call returns. Once it is closed, or a line could not be
 * written, it is over: what comes next belongs into another one.
 */
export class DecisionLog {
  readonly file: string;
  readonly publicKey: string;
  readonly #clock: Clock;
  readonly #key: ReturnType<typeof createSigner>['key'];
  #seq = 0;
  #prev = FIRST_LINK;
  #unsealed = 0;
  #isOver = false;

  constructor(folder: string, clock: Clock) {
    const { key, publicKey } = createSigner();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.file = join(folder, `${nameAt(clock.now())}.jsonl`);
    this.publicKey = publicKey;
    this.#clock = clock;
    this.#key = key;
    this.#sign({ type: 'open', version: 2, public_key: publicKey });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Decisions that no signature covers yet. */
  get unsealed(): number {
    return this.#unsealed;
  }

  append(decision: DecisionBody): void {
    this.#write(canonicalJson(this.#place(decision)));
    this.#unsealed += 1;
  }

  seal(): void {
    if (this.#unsealed > 0) this.#sign({ type: 'seal' });
  }

  close(): void {
    this.#sign({ type: 'close' });
    this.#isOver = true;
  }

  #sign(record: SignedBody): void {
    this.#write(toSignedLine(this.#place(record), this.#key));
    this.#unsealed = 0;
  }

  #place<Body extends object>(body: Body) {
    const at = new Date(this.#clock.now()).toISOString();
    return { ...body, seq: this.#seq + 1, at, prev: this.#prev };
  }

  #write(line: string): void {
    try {
      appendFileSync(this.file, `${line}\n`, { mode: 0o600 });
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
    this.#seq += 1;
    this.#prev = linkOf(line);
  }
}

/** Sorts by time; two runs that begin at once still differ. */
function nameAt(ms: number): string {
  const time = new Date(ms).toISOString().replaceAll(/[:.]/g, '-');
  return `${time}-${randomBytes(4).toString('hex')}`;
}
