// A log that shows whether it was changed: files of lines of JSON, numbered, each with the hash of the
// line before it. A file begins with `open` and ends with `close`. Both, and every `seal`, are signed
// (Ed25519): through the hashes a signature covers all lines above it. The audit log of a gateway and the
// decisions of an agent are such logs. They differ in their records, their keys and how they write text.

import { createPublicKey, hash, randomBytes, verify } from 'node:crypto';
import { type Clock, toIsoTime } from '@starloom/core';
import { z } from 'zod';

/** Fields of every record, and of those that are signed. */
export const chainedFields = {
  seq: z.int().positive(),
  at: z.iso.datetime(),
  prev: z.string().regex(/^[0-9a-f]{64}$/),
};
export const signedFields = { ...chainedFields, signature: z.base64url() };

/** The last line of a file that another one continues. */
export interface Continued {
  readonly file: string;
  readonly hash: string;
}

interface ChainedRecord {
  readonly type: string;
  readonly seq: number;
  readonly prev: string;
  readonly signature?: string;
  readonly continues?: Continued | null;
}

/** The one spelling of a record: of the line, and without `signature` of what is signed. */
export type EncodeRecord = (record: object) => string;

/** What `prev` is in the first line of a log. */
export const FIRST_LINK = '0'.repeat(64);

/** What the next line carries as `prev`. */
export function linkOf(line: string): string {
  return hash('sha256', line, 'hex');
}

interface ChainOptions {
  readonly clock: Clock;
  readonly encode: EncodeRecord;
  /** A signature over the bytes. */
  readonly sign: (bytes: Uint8Array) => string;
  /** Further fields of signed records, which name the key. */
  readonly signer?: () => object;
  readonly continues?: Continued | null;
}

interface TimedEntry {
  readonly entry: object;
  /** Milliseconds. */
  readonly at: number;
}

/** Text to be written, and where the chain ends once it is. */
export interface Extension {
  readonly text: string;
  readonly end: ChainEnd;
}

interface ChainEnd {
  readonly seq: number;
  readonly prev: string;
  readonly unsealed: number;
}

/** The chain of one file while it is written. The code that writes the text of an extension accepts it then. */
export class Chain {
  readonly #options: ChainOptions;
  #end: ChainEnd;

  constructor(options: ChainOptions) {
    this.#options = options;
    this.#end = { seq: 0, prev: options.continues?.hash ?? FIRST_LINK, unsealed: 0 };
  }

  /** Of the last line. */
  get link(): string {
    return this.#end.prev;
  }

  /** Lines that no signature covers yet. */
  get unsealed(): number {
    return this.#end.unsealed;
  }

  extend(entries: readonly TimedEntry[]): Extension {
    let [text, end] = ['', this.#end];
    for (const { entry, at } of entries) {
      const line = this.#options.encode(place(entry, at, end));
      text += `${line}\n`;
      end = { seq: end.seq + 1, prev: linkOf(line), unsealed: end.unsealed + 1 };
    }
    return { text, end };
  }

  sign(entry: object): Extension {
    const { clock, encode, sign, signer } = this.#options;
    const unsigned = { ...place(entry, clock.now(), this.#end), ...signer?.() };
    const signature = sign(Buffer.from(encode(unsigned)));
    const line = encode({ ...unsigned, signature });
    return {
      text: `${line}\n`,
      end: { seq: this.#end.seq + 1, prev: linkOf(line), unsealed: 0 },
    };
  }

  accept({ end }: Extension): void {
    this.#end = end;
  }
}

function place(entry: object, at: number, { seq, prev }: ChainEnd): object {
  return { seq: seq + 1, at: toIsoTime(at), ...entry, prev };
}

export type ChainFlaw =
  | 'unreadable'
  | 'not_canonical'
  | 'out_of_order'
  | 'broken_chain'
  | 'bad_signature'
  | 'unknown_key'
  | 'not_begun'
  | 'after_close';

interface CheckChainOptions<One extends ChainedRecord> {
  readonly schema: z.ZodType<One>;
  readonly encode: EncodeRecord;
  /** The raw public key that must have signed the record; `undefined` where it is not known. */
  readonly findKey: (record: One, opening: One | undefined) => string | undefined;
  readonly onRecord?: (record: One) => void;
}

/**
 * Checks the text of one file, line by line. It finds lines that were changed, removed, added or moved,
 * and signatures of other keys. Of lines after the last signature it checks the order alone. A last line
 * without its end is left out: its process was killed while it wrote.
 */
export class ChainCheck<One extends ChainedRecord> {
  readonly problems: { readonly line: number; readonly flaw: ChainFlaw }[] = [];
  /** The hashes of all lines. */
  readonly links = new Set<string>();
  records = 0;
  /** Records at the end that no signature covers. */
  unsealed = 0;
  lines = 0;
  isClosed = false;
  /** The first line, where it is `open`. */
  opening: One | undefined;
  readonly #options: CheckChainOptions<One>;
  #prev = FIRST_LINK;

  constructor(text: string, options: CheckChainOptions<One>) {
    this.#options = options;
    for (const line of text.split('\n').slice(0, -1)) this.#read(line);
  }

  #read(line: string): void {
    this.lines += 1;
    const record = this.#parse(line);
    const flaw = record ? this.#flawOf(record, line) : 'unreadable';
    if (flaw) this.problems.push({ line: this.lines, flaw });
    this.#prev = linkOf(line);
    this.links.add(this.#prev);
    if (!record) return;
    this.records += 1;
    if (record.signature === undefined) this.unsealed += 1;
    else if (!flaw) this.unsealed = 0;
    this.isClosed = record.type === 'close';
    this.#options.onRecord?.(record);
  }

  #parse(line: string): One | undefined {
    try {
      return this.#options.schema.safeParse(JSON.parse(line)).data;
    } catch {
      return undefined;
    }
  }

  #flawOf(record: One, line: string): ChainFlaw | undefined {
    if (this.lines === 1) {
      if (record.type !== 'open') return 'not_begun';
      this.opening = record;
      this.#prev = record.continues?.hash ?? FIRST_LINK;
    }
    if (this.isClosed) return 'after_close';
    if (this.lines > 1 && record.type === 'open') return 'out_of_order';
    const { signature, ...unsigned } = JSON.parse(line) as { signature?: string };
    if (this.#options.encode(JSON.parse(line)) !== line) return 'not_canonical';
    if (record.seq !== this.lines) return 'out_of_order';
    if (record.prev !== this.#prev) return 'broken_chain';
    if (signature === undefined) return undefined;
    const key = this.#options.findKey(record, this.opening);
    if (key === undefined) return 'unknown_key';
    const bytes = Buffer.from(this.#options.encode(unsigned));
    return isSigned(key, bytes, signature) ? undefined : 'bad_signature';
  }
}

/** `x` is the raw public key, as in a JWK. */
export function isSigned(x: string, bytes: Uint8Array, signature: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, bytes, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
}

/** Names sort by time, then by number; two processes that begin at once still differ. */
export function chainFileName(ms: number, number?: number): string {
  const time = new Date(ms).toISOString().replaceAll(/[:.]/g, '-');
  const place = number === undefined ? '' : `-${String(number).padStart(6, '0')}`;
  return `${time}${place}-${randomBytes(4).toString('hex')}.jsonl`;
}
