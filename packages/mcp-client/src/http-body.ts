import { StringDecoder } from 'node:string_decoder';
import {
  JsonCount,
  jsonFailure,
  type SseEvent,
  SseParser,
  UPSTREAM_JSON_LIMITS,
} from '@starloom/wire';

/** Takes the bytes of a response as they come. */
export interface HttpBody {
  push(chunk: Buffer): void;
  /** After the last byte. */
  end(): void;
}

export const IGNORED_BODY: HttpBody = { push: () => {}, end: () => {} };

/**
 * More than this is decoded, and its values are counted, as it comes: all at once, megabytes would hold up
 * the event loop.
 */
const LARGE_BYTES = 65_536;

/** The whole text at the end, with whether it was counted as JSON, or `onExceeded` with its beginning as soon as it is over the limit. */
export class WholeBody implements HttpBody {
  readonly #limit: number;
  readonly #onText: (text: string, isCounted: boolean) => void;
  readonly #onExceeded: (beginning: string) => void;
  #chunks: Buffer[] = [];
  readonly #count = new JsonCount(UPSTREAM_JSON_LIMITS);
  #decoder: StringDecoder | undefined;
  #decoded = '';
  #bytes = 0;

  constructor(
    limit: number,
    onText: (text: string, isCounted: boolean) => void,
    onExceeded: (beginning: string) => void,
  ) {
    this.#limit = limit;
    this.#onText = onText;
    this.#onExceeded = onExceeded;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) return void this.#onExceeded(this.#text());
    this.#chunks.push(chunk);
    if (this.#bytes > LARGE_BYTES) this.#decode();
  }

  end(): void {
    this.#onText(this.#text(), this.#decoder !== undefined);
  }

  #text(): string {
    if (!this.#decoder) return Buffer.concat(this.#chunks).toString('utf8');
    return this.#decoded + this.#decoder.end();
  }

  #decode(): void {
    this.#decoder ??= new StringDecoder('utf8');
    for (const chunk of this.#chunks) {
      const part = this.#decoder.write(chunk);
      this.#decoded += part;
      const excess = this.#count.add(part);
      if (excess) throw jsonFailure(excess);
    }
    this.#chunks = [];
  }
}

/** Server-sent events, each within the limit. `onEvent` says whether to go on. */
export class EventsBody implements HttpBody {
  readonly #parser: SseParser;
  readonly #onEvent: (event: SseEvent) => boolean;

  constructor(maxEventBytes: number, onEvent: (event: SseEvent) => boolean) {
    this.#parser = new SseParser({ maxEventBytes });
    this.#onEvent = onEvent;
  }

  push(chunk: Buffer): void {
    for (const event of this.#parser.push(chunk)) if (!this.#onEvent(event)) return;
  }

  end(): void {}
}
