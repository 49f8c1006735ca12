// One client of another project in a process of its own, driven by JSON lines (see `clients/`).

import { childEnvironment, type ManagedProcess, settlesWithin, spawnProcess } from '@starloom/wire';
import type { ConnectRequest, DriverRequest } from './clients/line-protocol.ts';

export interface DriverProgram {
  readonly command: string;
  readonly args: readonly string[];
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly Record<string, unknown>[];
  readonly structuredContent?: unknown;
  readonly _meta?: Record<string, unknown>;
}

export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema?: Record<string, unknown>;
  readonly annotations?: Record<string, unknown>;
}

/** How a request ended, as the client shows it to its program. */
export type Outcome<Result> =
  | { readonly kind: 'result'; readonly result: Result }
  | { readonly kind: 'error'; readonly error: { readonly code: unknown; readonly message: string } }
  | { readonly kind: 'cancelled' };

export interface Progress {
  readonly progress: number;
  readonly message?: string | null;
}

/** A question that the client received. */
export interface Asked {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

interface Line {
  readonly id?: number;
  readonly event?: string;
  readonly asked?: Asked;
  readonly progress?: Progress;
  readonly result?: unknown;
  readonly error?: { readonly code: unknown; readonly message: string };
  readonly cancelled?: boolean;
}

interface Waiting {
  readonly onProgress: (progress: Progress) => void;
  readonly settle: (outcome: Outcome<unknown>) => void;
  readonly fail: (error: Error) => void;
}

const MAX_LINE_BYTES = 64 * 1024 * 1024;
const CLOSE_MS = 5_000;

/** Resolves when the client is connected; rejects with what it wrote to stderr. */
export async function openDriver(program: DriverProgram, to: ConnectRequest): Promise<Driver> {
  const child = await spawnProcess({
    ...program,
    env: childEnvironment(),
    limits: { maxLineBytes: MAX_LINE_BYTES },
  });
  const driver = new Driver(child);
  try {
    await driver.connect(to);
    return driver;
  } catch (error) {
    await driver[Symbol.asyncDispose]();
    throw error;
  }
}

export class Driver implements AsyncDisposable {
  protocolVersion: string | undefined;
  /** How often the client reported that the list of tools changed. */
  toolsChanged = 0;
  /** What the client was asked so far. */
  readonly asked: Asked[] = [];

  readonly #child: ManagedProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #nextId = 1;

  constructor(child: ManagedProcess) {
    this.#child = child;
    this.#ended = this.#read();
  }

  async connect(to: ConnectRequest): Promise<void> {
    const { outcome } = this.#send<{ protocol_version?: string }>({ op: 'connect', ...to });
    this.protocolVersion = resultOf(await outcome).protocol_version;
  }

  async list(): Promise<readonly ListedTool[]> {
    const { outcome } = this.#send<{ tools: ListedTool[] }>({ op: 'list' });
    return resultOf(await outcome).tools;
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<ToolResult> {
    return resultOf(await this.startCall(name, given).outcome);
  }

  startCall(
    name: string,
    given: Record<string, unknown> = {},
    onProgress: (progress: Progress) => void = () => {},
  ) {
    const sent = this.#send<ToolResult>({ op: 'call', name, arguments: given }, onProgress);
    const cancel = () => this.#write({ op: 'cancel', target: sent.id });
    return { outcome: sent.outcome, cancel };
  }

  async read(uri: string): Promise<readonly Record<string, unknown>[]> {
    const { outcome } = this.#send<{ contents: Record<string, unknown>[] }>({ op: 'read', uri });
    return resultOf(await outcome).contents;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    await settlesWithin(this.#ended, CLOSE_MS);
    await this.#child.stop();
  }

  #send<Result>(
    request: DriverRequest | ({ op: 'connect' } & ConnectRequest),
    onProgress: (progress: Progress) => void = () => {},
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<Result>>();
    const settle = (outcome: Outcome<unknown>) => resolve(outcome as Outcome<Result>);
    const id = this.#write(request);
    this.#waiting.set(id, { onProgress, settle, fail: reject });
    return { id, outcome: promise };
  }

  #write(request: object): number {
    const id = this.#nextId++;
    this.#child.stdin.write(`${JSON.stringify({ id, ...request })}\n`);
    return id;
  }

  async #read(): Promise<void> {
    let cause: unknown;
    try {
      for await (const line of this.#child.lines()) this.#take(JSON.parse(line) as Line);
    } catch (error) {
      cause = error;
    }
    const error = new Error(`the client ended:\n${this.#child.stderrTail()}`, { cause });
    for (const { fail } of this.#waiting.values()) fail(error);
  }

  #take(line: Line): void {
    if (line.event === 'tools_changed') this.toolsChanged += 1;
    if (line.asked) this.asked.push(line.asked);
    const waiting = line.id === undefined ? undefined : this.#waiting.get(line.id);
    if (!waiting || line.id === undefined) return;
    if (line.progress) {
      waiting.onProgress(line.progress);
      return;
    }
    this.#waiting.delete(line.id);
    if (line.cancelled) waiting.settle({ kind: 'cancelled' });
    else if (line.error) waiting.settle({ kind: 'error', error: line.error });
    else waiting.settle({ kind: 'result', result: line.result });
  }
}

function resultOf<Result>(outcome: Outcome<Result>): Result {
  if (outcome.kind === 'result') return outcome.result;
  throw new Error(outcome.kind === 'error' ? outcome.error.message : 'cancelled');
}
