// One connection, kept alive, with one call in flight: the next is made when the last is answered.
// It writes the same bytes each time and looks only for the end of an answer and for the texts in
// it. A real HTTP client would cost as much as the upstream, and both share the core that must not
// be the limit.

import { connect, type Socket } from 'node:net';
import { PROGRESS_TOKEN } from '../mcp-call.ts';
import type { Slice } from './slice.ts';
import type { Tally } from './tally.ts';

const TIMEOUT_MS = 10_000;
const RIGHT = Buffer.from('HTTP/1.1 200 ');
const HEAD_END = '\r\n\r\n';
const CHUNKS_END = Buffer.from('\r\n0\r\n\r\n');

export class Caller {
  readonly #tally: Tally;
  readonly #address: URL;
  readonly #request: Buffer;
  readonly #holds: readonly string[];
  readonly #firstEvent: string | undefined;
  readonly #over = Promise.withResolvers<void>();
  #received: Buffer | undefined;
  #startedAt = 0;
  #firstEventMs: number | undefined;

  /** In a session no two open calls may have the same `id`, nor the same token of their progress. */
  constructor({ url, call }: Slice, tally: Tally, id: number) {
    this.#tally = tally;
    this.#address = new URL(url);
    const body = call.body
      .replace('"id":1,', `"id":${id},`)
      .replace(`"${PROGRESS_TOKEN}"`, `"${PROGRESS_TOKEN}-${id}"`);
    this.#request = toBytes(this.#address, { ...call, body });
    this.#holds = call.holds;
    this.#firstEvent = call.firstEvent;
  }

  /** Until the tally is over and the last answer is there. */
  async run(): Promise<void> {
    this.#open();
    await this.#over.promise;
  }

  #open(): void {
    const { hostname, port } = this.#address;
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (chunk: Buffer) => this.#receive(socket, chunk));
    socket.on('error', (error) => this.#tally.fail(String(error)));
    socket.on('close', (hadError) => this.#reopen(hadError));
    this.#next(socket);
  }

  #next(socket: Socket): void {
    this.#received = undefined;
    this.#firstEventMs = undefined;
    this.#startedAt = performance.now();
    socket.write(this.#request);
  }

  #receive(socket: Socket, chunk: Buffer): void {
    const received = this.#received ? Buffer.concat([this.#received, chunk]) : chunk;
    this.#received = received;
    if (this.#firstEvent !== undefined && this.#firstEventMs === undefined) {
      const isThere = received.includes(this.#firstEvent);
      if (isThere) this.#firstEventMs = performance.now() - this.#startedAt;
    }
    if (!isWhole(received)) return;
    const latencyMs = performance.now() - this.#startedAt;
    if (this.#isRight(received)) this.#tally.add(latencyMs, this.#firstEventMs);
    else this.#tally.fail(received.toString());
    if (this.#tally.isOver) socket.destroy();
    else this.#next(socket);
  }

  #isRight(received: Buffer): boolean {
    if (!received.subarray(0, RIGHT.length).equals(RIGHT)) return false;
    return this.#holds.every((text) => received.includes(text));
  }

  #reopen(hadError: boolean): void {
    if (!this.#tally.isOver && !hadError) this.#tally.fail('the connection was closed');
    if (this.#tally.isOver) this.#over.resolve();
    else this.#open();
  }
}

function toBytes({ pathname, search, host }: URL, { headers, body }: Slice['call']): Buffer {
  const fields = { host, ...headers, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Nothing follows an answer before the next call, so the end of the chunks is the end of all. */
function isWhole(received: Buffer): boolean {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(received.toString('latin1', 0, headEnd))?.[1];
  if (length !== undefined) return received.length >= headEnd + HEAD_END.length + Number(length);
  return received.subarray(-CHUNKS_END.length).equals(CHUNKS_END);
}
