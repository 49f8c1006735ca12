// What is checked of a request before its body is read, whichever endpoint it is for.

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { utf8Text } from '@starloom/wire';
import { failure } from '../reasons.ts';

/** Nearly every request asks for this; it need not be parsed again. */
const MCP_TARGET = new URL('http://gateway/mcp');

export function parseTarget(target = '/'): URL {
  if (target === '/mcp') return MCP_TARGET;
  const url = URL.parse(target, 'http://gateway');
  const [path = ''] = target.split(/[?#]/, 1);
  if (url && url.host === 'gateway' && url.pathname === path) return url;
  throw failure('target');
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** What a proxy before us may have read in another way. */
export function assertFraming({ method, rawHeaders }: IncomingMessage): void {
  if (!METHODS.has(method)) {
    throw failure('method_not_allowed/anywhere', { method, allow: [...METHODS].join(', ') });
  }
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts !== 1) throw failure('host');
}

export function assertJson({ headers }: IncomingMessage): void {
  const isUsual = headers['content-type'] === 'application/json';
  if (isUsual && headers['content-encoding'] === undefined) return;
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const { 'content-encoding': encoding = 'identity' } = headers;
  const isPlain = encoding.toLowerCase() === 'identity';
  if (isPlain && type.trim().toLowerCase() === 'application/json') return;
  throw failure(isPlain ? 'content_type' : 'content_encoding');
}

interface BodyReading {
  /** In bytes. */
  readonly limit: number;
  /** Given back with the last byte. */
  readonly share: BodyShare;
  /** Called when the body will be read: a client may wait for that. */
  readonly proceed: () => void;
  /** When to go on with so many bytes: all that is done with them takes time of the event loop. */
  readonly begin: (bytes: number) => Turn;
  /** When to take the next part of a large body: the system has megabytes of it ready at once. */
  readonly pace: () => Turn;
  /** Looks at each part as it comes; throws where the body is to be refused for it. */
  readonly count?: ((part: string) => void) | undefined;
}

/** `undefined` for now. */
type Turn = Promise<void> | undefined;

/**
 * The body as text, bounded while it is read, strict UTF-8. Rejects when the client leaves. By events:
 * the iterator of a stream costs more than the rest of a request's checks.
 */
export function readBody(request: IncomingMessage, reading: BodyReading): Promise<string> {
  const { limit, share, proceed, begin, pace, count } = reading;
  return new Promise((resolve, reject) => {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limit) throw failure('body_too_large', { limit });
    proceed();
    const body = new GrowingBody(declared);
    let isOver = false;
    let hasEnded = false;
    let isWaiting = false;
    const refuse = (error: unknown) => {
      isOver = true;
      body.free();
      share.giveBack();
      reject(error);
    };
    const take = (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > limit) throw failure('body_too_large', { limit });
        // All that counts in JSON is one byte in UTF-8, too.
        count?.(chunk.toString('latin1'));
        share.hold(body.bytesWith(chunk));
        body.add(chunk);
      } catch (error) {
        request.off('data', onData).pause();
        refuse(error);
      }
    };
    const onData = (chunk: Buffer) => {
      const turn = count || body.length >= PACED_BYTES ? pace() : undefined;
      if (!turn) return take(chunk);
      request.pause();
      isWaiting = true;
      void turn.then(() => {
        isWaiting = false;
        if (isOver) return;
        request.resume();
        take(chunk);
        // That of the last part comes although the request is paused.
        if (hasEnded && !isOver) end();
      });
    };
    const end = () => {
      hasEnded = true;
      if (isWaiting) return;
      isOver = true;
      const bytes = body.bytes();
      const turn = begin(bytes.length);
      if (turn) void turn.then(() => finish(bytes));
      else finish(bytes);
    };
    const finish = (bytes: Buffer) => {
      try {
        resolve(decode(bytes));
      } catch (error) {
        reject(error);
      } finally {
        freeNow(bytes);
        share.giveBack();
      }
    };
    const leave = () => {
      if (!isOver && !hasEnded) refuse(GONE);
    };
    request.on('data', onData);
    request.on('end', end);
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
  if (Number(request.headers['content-length'] ?? 0) > limit)
    throw failure('body_too_large', { limit });
  let length = 0;
  await new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit) return;
      request.off('data', onData).pause();
      reject(failure('body_too_large', { limit }));
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
 * A large body of a known length is copied into one block: the system takes that back when it is freed. The block is
 * made when much of it has come: to announce a large body costs a client nothing, and takes nothing of its budget.
 */
class GrowingBody {
  length = 0;
  readonly #declared: number;
  readonly #chunks: Buffer[] = [];
  #block: Buffer | undefined;

  constructor(declared: number) {
    this.#declared = declared;
  }

  /** How much it holds when it has this chunk, too. */
  bytesWith({ length }: Buffer): number {
    const bytes = this.length + length;
    return this.#isBlock(bytes) ? this.#declared : bytes;
  }

  #isBlock(bytes: number): boolean {
    return bytes >= LARGE_BYTES && bytes <= this.#declared;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.length += chunk.length;
    if (!this.#isBlock(this.length)) return;
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
const GONE = failure('client_gone');
const BYTE_ORDER_MARK = '\ufeff';

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw failure('invalid_utf8');
  const text = utf8Text(bytes);
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

// What bodies that are still being read may hold in memory: bounded for each principal and in all, so
// that many unfinished uploads of one caller leave room for the others.

const MAX_PER_PRINCIPAL = 64 * 1024 ** 2;
const MAX_IN_ALL = 512 * 1024 ** 2;

export class BodyBudget {
  readonly #held = new Map<string, number>();
  #total = 0;

  open(principalId: string): BodyShare {
    return new BodyShare(this, principalId);
  }

  /** OVERLOADED when these bytes do not fit any more. */
  take(principalId: string, bytes: number): void {
    const held = (this.#held.get(principalId) ?? 0) + bytes;
    if (held > MAX_PER_PRINCIPAL || this.#total + bytes > MAX_IN_ALL)
      throw failure('bodies_in_progress');
    this.#total += bytes;
    this.#held.set(principalId, held);
  }

  give(principalId: string, bytes: number): void {
    const held = (this.#held.get(principalId) ?? 0) - bytes;
    this.#total -= bytes;
    if (held > 0) this.#held.set(principalId, held);
    else this.#held.delete(principalId);
  }
}

/** What one body holds of it, until it is given back. */
class BodyShare {
  readonly #budget: BodyBudget;
  readonly #principalId: string;
  #taken = 0;

  constructor(budget: BodyBudget, principalId: string) {
    this.#budget = budget;
    this.#principalId = principalId;
  }

  /** So many bytes from now on. */
  hold(bytes: number): void {
    this.#budget.take(this.#principalId, bytes - this.#taken);
    this.#taken = bytes;
  }

  giveBack(): void {
    this.#budget.give(this.#principalId, this.#taken);
    this.#taken = 0;
  }
}

/**
 * Gives the memory of a large buffer back at once. Left to the garbage collector it stays until a later
 * collection, and a client that sends fast takes hundreds of megabytes meanwhile. The buffer is empty
 * afterwards; one that shares its memory with others is left alone.
 */
export function freeNow({ buffer, byteLength }: Buffer): void {
  if (byteLength >= FREED_BYTES && byteLength === buffer.byteLength && 'transfer' in buffer) {
    buffer.transfer(0);
  }
}

const FREED_BYTES = 16 * 1024;
