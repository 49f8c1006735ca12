import type { HttpStream } from './http-stream.ts';
import { failure } from './reasons.ts';

const GRACE_MS = 500;

/**
 * Streams whose answer has come. They end by themselves, so that their connections can be used
 * again; one that the server keeps open is closed. One timer serves all.
 */
export class EndingStreams {
  /** When each came in, in that order. */
  readonly #since = new Map<HttpStream, number>();
  #timer: NodeJS.Timeout | undefined;

  add(stream: HttpStream): void {
    if (stream.isOver) return;
    this.#since.set(stream, performance.now());
    this.#timer ??= setTimeout(this.#sweep, GRACE_MS).unref();
  }

  delete(stream: HttpStream): void {
    this.#since.delete(stream);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const stream of this.#since.keys()) stream.abort(failure('closed'));
    this.#since.clear();
  }

  readonly #sweep = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const [stream, since] of this.#since) {
      const left = since + GRACE_MS - now;
      if (left > 0) {
        this.#timer = setTimeout(this.#sweep, left).unref();
        return;
      }
      this.#since.delete(stream);
      stream.abort(failure('closed'));
    }
  };
}
