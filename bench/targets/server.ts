import { setTimeout as delay } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import { Child } from '../child.ts';
import {
  type HttpCall,
  INITIALIZED_BODY,
  initializeBody,
  listToolsCall,
  OLDER_HEADERS,
} from '../mcp-call.ts';
import type { Program } from '../own-program.ts';

const START_TIMEOUT_MS = 30_000;
const ASK_AGAIN_MS = 10;

type Headers = HttpCall['headers'];

/**
 * A process that serves MCP over HTTP. It says so in a line, as `starloom up --json` does, or is asked
 * at its address until it answers.
 */
export class Server implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** From the start of the process to the answer to the first `tools/list`. */
  readonly startupMs: number;
  readonly #child: Child;

  static async start(program: Program, headers: Headers, signal: AbortSignal): Promise<Server> {
    const startedAt = performance.now();
    const child = await Child.start(program);
    try {
      const { url, pid } =
        program.url === undefined
          ? await listAnnounced(child, headers, signal)
          : await listWhenReady(child, program.url, signal);
      return new Server(child, url, pid, performance.now() - startedAt);
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The headers that an older client sends after its handshake; a session if the server has any. */
  openSession(headers: Headers, signal: AbortSignal): Promise<Headers> {
    return openSession(this.url, headers, signal);
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

interface Address {
  readonly url: string;
  readonly pid: number;
}

async function listAnnounced(
  child: Child,
  headers: Headers,
  signal: AbortSignal,
): Promise<Address> {
  const ready = (await child.receive(START_TIMEOUT_MS, signal)) as Address;
  const url = new URL('/mcp', ready.url).href;
  await listTools(url, listToolsCall(), headers, inTime(signal));
  return { url, pid: ready.pid };
}

/** As an older client, which every peer understands. */
async function listWhenReady(child: Child, url: string, parent: AbortSignal): Promise<Address> {
  const signal = inTime(parent);
  const list = async () => {
    const session = await openSession(url, {}, signal);
    await listTools(url, listToolsCall('2025'), session, signal);
  };
  await Promise.race([askAgain(list, signal), child.ignore()]);
  return { url, pid: child.pid };
}

async function askAgain(ask: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) throw error;
      await delay(ASK_AGAIN_MS);
    }
  }
}

async function openSession(url: string, headers: Headers, signal: AbortSignal): Promise<Headers> {
  const sent = { ...OLDER_HEADERS, ...headers };
  const answer = await post(url, sent, initializeBody(), signal);
  const version = /"protocolVersion":\s*"([^"]+)"/.exec(answer.text)?.[1];
  if (version === undefined) throw wrongAnswer('A target refuses an older client', url, answer);
  const session = {
    'mcp-protocol-version': version,
    ...(answer.sessionId !== null && { 'mcp-session-id': answer.sessionId }),
  };
  await post(url, { ...sent, ...session }, INITIALIZED_BODY, signal);
  return session;
}

async function listTools(url: string, call: HttpCall, headers: Headers, signal: AbortSignal) {
  const answer = await post(url, { ...call.headers, ...headers }, call.body, signal);
  if (answer.status === 200 && call.holds.every((part) => answer.text.includes(part))) return;
  throw wrongAnswer('A target does not list its tools', url, answer);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly sessionId: string | null;
}

async function post(url: string, headers: Headers, body: string, signal: AbortSignal) {
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  const sessionId = response.headers.get('mcp-session-id');
  return { status: response.status, text: await response.text(), sessionId };
}

function wrongAnswer(message: string, url: string, { status, text }: Answer): FabricError {
  const details = { url, status, text: text.slice(0, 500) };
  return new FabricError('UPSTREAM_ERROR', message, { details });
}

function inTime(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]);
}
