// An MCP server that is a child process, one JSON-RPC message a line. Answers reach the SDK's client
// one turn of the event loop later than notifications: it would lose progress that was written right
// before the answer.

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { FabricError, isObject } from '@starloom/core';
import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';
import type { ServerTransport } from './server-transport.ts';
import { traced } from './traced-message.ts';

export interface StdioTransportOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly maxMessageBytes: number;
  readonly onStderrLine: (line: string) => void;
}

const MAX_STRAY_BYTES = 1_048_576;
const MAX_UNWRITTEN_BYTES = 64 * 1_048_576;

export class StdioTransport implements ServerTransport {
  /** With `pid`, how the SDK knows a child process when it negotiates the version. */
  readonly stderr = null;
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  failure: FabricError | undefined;

  readonly #options: StdioTransportOptions;
  #process: ManagedProcess | undefined;
  #strayBytes = 0;
  #isClosed = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  async start(): Promise<void> {
    const { command, env, folder, maxMessageBytes, onStderrLine } = this.#options;
    const [program = '', ...args] = command;
    const child = await spawnProcess({
      command: program,
      args,
      cwd: folder,
      env: childEnvironment({ extra: env }),
      graceMs: 2_000,
      limits: { maxLineBytes: maxMessageBytes },
      onStderrLine,
    });
    this.#process = child;
    if (this.#isClosed) await child.stop();
    else void this.#read(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#process;
    if (this.failure) throw this.failure;
    if (!child || this.#isClosed) throw serverGone();
    if (child.stdin.writableLength > MAX_UNWRITTEN_BYTES) throw doesNotRead();
    await child.write(`${JSON.stringify(traced(message))}\n`);
  }

  async close(): Promise<void> {
    this.#end();
    await this.#process?.stop();
  }

  async #read(child: ManagedProcess): Promise<void> {
    try {
      for await (const line of child.lines()) this.#accept(line);
      this.#end(serverGone(child.stderrTail()));
    } catch (error) {
      this.#end(FabricError.from(error));
    }
    await child.stop();
  }

  #accept(line: string): void {
    if (line === '') return;
    const parsed = parseLine(line);
    const messages = Array.isArray(parsed) ? parsed : [parsed];
    if (messages.every(isMessage)) messages.forEach(this.#deliver);
    else this.#tolerate(line);
  }

  readonly #deliver = (message: JSONRPCMessage): void => {
    if ('method' in message) this.onmessage?.(message);
    else setImmediate(() => this.onmessage?.(message));
  };

  /** Many programs greet on stdout before they speak the protocol; few do so at length. */
  #tolerate(line: string): void {
    this.#strayBytes += line.length;
    if (this.#strayBytes > MAX_STRAY_BYTES) throw notMcp();
  }

  #end(failure?: FabricError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.failure = failure;
    setImmediate(() => this.onclose?.());
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return isObject(value) && value.jsonrpc === '2.0';
}

function serverGone(stderr = ''): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The MCP server ended', {
    details: {
      reason: 'process_ended',
      stderr: stderr.trim().slice(-500),
      fix: 'see what it wrote to stderr, and run its command by hand',
    },
  });
}

function doesNotRead(): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The MCP server does not read its input', {
    details: { reason: 'stdin_full', fix: 'see what the server is doing' },
  });
}

function notMcp(): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The program writes something other than MCP', {
    details: { reason: 'not_json_rpc', fix: 'name the command of an MCP server over stdio' },
  });
}
