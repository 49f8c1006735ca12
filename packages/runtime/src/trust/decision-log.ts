import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '@starloom/core';
import { createSigner, FIRST_LINK, linkOf, type RecordBody, toLine } from './decision-chain.ts';

/** The decisions of one run of a session, signed with a key that only this run ever has. */
export class DecisionLog {
  readonly publicKey: string;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #key: ReturnType<typeof createSigner>['key'];
  #seq: number;
  #prev: string;

  constructor(options: {
    readonly file: string;
    readonly sessionId: string;
    readonly clock: Clock;
  }) {
    const { key, publicKey } = createSigner();
    this.#file = options.file;
    this.#clock = options.clock;
    this.#key = key;
    this.publicKey = publicKey;
    const { lines, torn } = linesOf(options.file);
    this.#seq = lines.length;
    this.#prev = lines.length === 0 ? FIRST_LINK : linkOf(lines.at(-1) ?? '');
    if (torn) appendFileSync(options.file, '\n');
    this.append({
      type: 'open',
      version: 1,
      session_id: options.sessionId.toWellFormed(),
      public_key: publicKey,
    });
  }

  append(body: RecordBody): void {
    const seq = this.#seq + 1;
    const at = new Date(this.#clock.now()).toISOString();
    const line = toLine({ ...body, seq, at, prev: this.#prev }, this.#key);
    appendFileSync(this.#file, `${line}\n`, { mode: 0o600 });
    this.#seq = seq;
    this.#prev = linkOf(line);
  }

  close(): void {
    this.append({ type: 'close' });
  }
}

/** The lines there are; `torn` when a crash left the last one without its end. */
function linesOf(file: string): { lines: string[]; torn: boolean } {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const lines = text.split('\n');
  const torn = lines.pop() !== '';
  return torn ? { lines: text.split('\n'), torn } : { lines, torn };
}
