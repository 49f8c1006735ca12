import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { FabricError } from '@starloom/core';
import type { BodyShare } from './body-budget.ts';
import { freeNow } from './free-now.ts';

export interface BodyReading {
  /** In bytes. */
  readonly limit: number;
  readonly share: BodyShare;
  /** Called when the body will be read: a client may wait for that. */
  readonly proceed: () => void;
  /** When to go on with so many bytes: all that is done with them takes time of the event loop. */
  readonly begin: (bytes: number) => Turn;
  /** When to read on: of a large body the system has megabytes ready at once. */
  readonly pace: () => Turn;
}

/** `undefined` for now. */
type Turn = Promise<void> | undefined;

/**
 * The body as text, bounded while it is read, strict UTF-8. Rejects when the client leaves. By events:
 * the iterator of a stream costs more than the rest of a request's checks.
 */
export function readBody(request: IncomingMessage, reading: BodyReading): Promise<string> {
  const { limit, share, proceed, begin, pace } = reading;
  return new Promise((resolve, reject) => {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limit) throw tooLarge(limit);
    proceed();
    const body = new GrowingBody(declared);
    let isOver = false;
    const refuse = (error: unknown) => {
      isOver = true;
      body.free();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > limit) throw tooLarge(limit);
        share.take(chunk.length);
        body.add(chunk);
        if (body.length >= PACED_BYTES) pauseUntil(pace(), request);
      } catch (error) {
        request.off('data', onData).pause();
        refuse(error);
      }
    };
    const finish = (bytes: Buffer) => {
      try {
        resolve(decode(bytes));
      } catch (error) {
        reject(error);
      } finally {
        freeNow(bytes);
      }
    };
    const leave = () => {
      if (!isOver) refuse(GONE);
    };
    request.on('data', onData);
    request.on('end', () => {
      isOver = true;
      const bytes = body.bytes();
      const turn = begin(bytes.length);
      if (turn) void turn.then(() => finish(bytes));
      else finish(bytes);
    });
    request.on('error', leave);
    request.on('close', leave);
  });
}

/** Whether the client sends its body only when it is told to (`Expect: 100-continue`). */
export function waitsToSend({ headers, complete }: IncomingMessage): boolean {
  return !complete && headers.expect?.toLowerCase() === '100-continue';
}

export function tellToSend(request: IncomingMessage, response: ServerResponse): void {
  if (!waitsToSend(request)) return;
  delete request.headers.expect;
  response.writeContinue();
}

/** Reads nothing more of it until then. */
export function pauseUntil(turn: Turn, request: IncomingMessage): void {
  if (!turn) return;
  request.pause();
  void turn.then(() => request.resume());
}

/** Reads to the end and keeps nothing. */
export async function discardBody(request: IncomingMessage, limit: number): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  let length = 0;
  await new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) return;
      request.off('data', onData).pause();
      reject(tooLarge(limit));
    };
    request.on('data', onData);
    request.once('end', resolve);
    request.once('close', () => reject(GONE));
  });
}

/** Did the client leave before its request was whole? */
export function isGone(error: unknown): boolean {
  return error === GONE;
}

/**
 * A large body of a known length is copied into one block: the system takes that back when it is freed.
 * The block is made when much of it has come: to announce a large body costs a client nothing.
 */
class GrowingBody {
  length = 0;
  readonly #declared: number;
  readonly #chunks: Buffer[] = [];
  #block: Buffer | undefined;

  constructor(declared: number) {
    this.#declared = declared;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
    if (this.length < LARGE_BYTES || this.length > this.#declared) return;
    this.#block ??= Buffer.allocUnsafeSlow(this.#declared);
    let at = this.length - this.#chunks.reduce((sum, { length }) => sum + length, 0);
    for (const part of this.#chunks.splice(0)) {
      at += part.copy(this.#block, at);
      freeNow(part);
    }
  }

  free(): void {
    if (this.#block) freeNow(this.#block);
    for (const chunk of this.#chunks.splice(0)) freeNow(chunk);
  }

  bytes(): Buffer {
    const [only] = this.#chunks;
    if (this.#block) return this.#block;
    return this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
  }
}

const LARGE_BYTES = 256 * 1024;
const PACED_BYTES = 128 * 1024;
/** One for all: thousands may leave at once. */
const GONE = new FabricError('CANCELLED', 'The client left before its request was whole', {
  details: { reason: 'client_gone' },
});
const BYTE_ORDER_MARK = '\ufeff';

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) {
    throw new FabricError('BAD_INPUT', 'The body is not valid UTF-8', {
      details: { reason: 'invalid_utf8', rpc_code: -32700 },
    });
  }
  const text = bytes.toString('utf8');
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function tooLarge(limit: number): FabricError {
  return new FabricError('BAD_INPUT', `The body is larger than ${limit} bytes`, {
    details: { reason: 'body_too_large', limit, http_status: 413, fix: 'raise limits.body_bytes' },
  });
}
