// A child's stderr is always read, so that it never blocks on it; of what it said only the last
// bytes are kept, in a ring that is as large as that and never larger.

export class StderrTail {
  readonly #limit: number;
  #ring: Buffer | undefined;
  #written = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Uint8Array): void {
    if (this.#limit === 0) return;
    this.#ring ??= Buffer.alloc(this.#limit);
    const kept = chunk.subarray(-this.#limit);
    this.#written += chunk.length - kept.length;
    const start = this.#written % this.#limit;
    const untilEnd = kept.subarray(0, this.#limit - start);
    this.#ring.set(untilEnd, start);
    this.#ring.set(kept.subarray(untilEnd.length), 0);
    this.#written += kept.length;
  }

  toString(): string {
    if (this.#ring === undefined) return '';
    if (this.#written <= this.#limit) return this.#ring.toString('utf8', 0, this.#written);
    const start = this.#written % this.#limit;
    const tail = Buffer.concat([this.#ring.subarray(start), this.#ring.subarray(0, start)]);
    return tail.subarray(firstCharacter(tail)).toString('utf8');
  }
}

/** Log lines for people: a bad byte is replaced, and a line over the limit comes in pieces. */
export class StderrLines {
  readonly #decoder = new TextDecoder();
  readonly #limit: number;
  readonly #emit: (line: string) => void;
  #rest = '';

  constructor(limit: number, emit: (line: string) => void) {
    this.#limit = limit;
    this.#emit = emit;
  }

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emit(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (this.#rest.length < this.#limit) return;
    this.#emit(this.#rest);
    this.#rest = '';
  }

  end(): void {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = '';
    if (rest !== '') this.#emit(rest);
  }
}

/** The cut may fall inside a character, of which at most three bytes then stand in front. */
function firstCharacter(bytes: Uint8Array): number {
  const index = bytes.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80);
  return index === -1 ? Math.min(3, bytes.length) : index;
}
