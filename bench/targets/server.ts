import { FabricError } from '@starloom/core';
import { Child } from '../child.ts';
import { type HttpCall, initializeBody, listToolsCall, OLDER_HEADERS } from '../mcp-call.ts';
import type { Program } from '../own-program.ts';

const START_TIMEOUT_MS = 30_000;

/** A process that serves MCP over HTTP and said so in a line, as `starloom up --json` does. */
export class Server implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** From the start of the process to the answer to the first `tools/list`. */
  readonly startupMs: number;
  readonly #child: Child;

  static async start(
    program: Program,
    headers: HttpCall['headers'],
    signal: AbortSignal,
  ): Promise<Server> {
    const startedAt = performance.now();
    const child = await Child.start(program);
    try {
      const ready = (await child.receive(START_TIMEOUT_MS, signal)) as { url: string; pid: number };
      const url = new URL('/mcp', ready.url).href;
      await listTools(url, headers, signal);
      return new Server(child, url, ready.pid, performance.now() - startedAt);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The headers by which calls belong to a new session of an older client. */
  async openSession(
    headers: HttpCall['headers'],
    signal: AbortSignal,
  ): Promise<HttpCall['headers']> {
    const request = { method: 'POST', headers: { ...OLDER_HEADERS, ...headers }, signal };
    const response = await fetch(this.url, { ...request, body: initializeBody() });
    await response.body?.cancel();
    const id = response.headers.get('mcp-session-id');
    if (id !== null) return { 'mcp-session-id': id };
    throw new FabricError('UPSTREAM_ERROR', 'The gateway gave no session to an older client');
  }

  private constructor(child: Child, url: string, pid: number, startupMs: number) {
    this.#child = child;
    this.url = url;
    this.pid = pid;
    this.startupMs = startupMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}

async function listTools(url: string, headers: HttpCall['headers'], signal: AbortSignal) {
  const call = listToolsCall();
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...call.headers, ...headers },
    body: call.body,
    signal: AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]),
  });
  const text = await answer.text();
  if (answer.ok && call.holds.every((part) => text.includes(part))) return;
  throw new FabricError('UPSTREAM_ERROR', 'A target does not list its tools', {
    details: { url, status: answer.status, text: text.slice(0, 500) },
  });
}
