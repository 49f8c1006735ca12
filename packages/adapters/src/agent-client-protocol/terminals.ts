// Programs that an agent runs through the gateway, below the root, when the manifest allows it. Each
// ends with its session at the latest; of what it writes the last part is kept.

import { randomUUID } from 'node:crypto';
import {
  type CreateTerminalRequest,
  type CreateTerminalResponse,
  RequestError,
  type TerminalOutputResponse,
} from '@agentclientprotocol/sdk';
import { FabricError, type Log } from '@starloom/core';
import {
  childEnvironment,
  type ManagedProcess,
  type ProcessExit,
  StderrTail,
  spawnProcess,
} from '@starloom/wire';
import { type Isolation, isolate } from '../upstream/isolation.ts';
import { refusing, type ServedFiles } from './files.ts';

interface Named {
  readonly sessionId: string;
  readonly terminalId: string;
}

interface RunningTerminal {
  readonly sessionId: string;
  readonly child: ManagedProcess;
  readonly tail: StderrTail;
  readonly limit: number;
  readonly read: Promise<void>;
  written: number;
  exit: ProcessExit | undefined;
}

export interface TerminalsOptions {
  readonly allowed: boolean;
  readonly files: ServedFiles;
  readonly isolation: Isolation;
  readonly graceMs: number;
  readonly agentId: string | undefined;
  readonly log: Log;
}

const MAX_TERMINALS = 32;
const MAX_OUTPUT = 1_048_576;
/** Standard error joins standard output, in the order in which the program writes. */
const JOINED = ['-c', 'exec "$@" 2>&1', 'sh'];

export class Terminals {
  readonly #options: TerminalsOptions;
  readonly #terminals = new Map<string, RunningTerminal>();
  #starting = 0;

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  create(request: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    return refusing(async () => {
      this.#assertAllowed();
      this.#starting += 1;
      try {
        const terminalId = randomUUID();
        this.#terminals.set(terminalId, await this.#start(request));
        return { terminalId };
      } finally {
        this.#starting -= 1;
      }
    });
  }

  output(named: Named): TerminalOutputResponse {
    const { tail, written, limit, exit } = this.#find(named);
    const exitStatus = exit && { exitCode: exit.code, signal: exit.signal };
    return {
      output: tail.toString(),
      truncated: written > limit,
      ...(exitStatus && { exitStatus }),
    };
  }

  async waitForExit(named: Named) {
    const terminal = this.#find(named);
    const { code, signal } = await terminal.child.exited;
    await terminal.read;
    return { exitCode: code, signal };
  }

  async kill(named: Named): Promise<Record<string, never>> {
    await this.#find(named).child.stop();
    return {};
  }

  async release(named: Named): Promise<Record<string, never>> {
    const { child } = this.#find(named);
    this.#terminals.delete(named.terminalId);
    await child.stop();
    return {};
  }

  /** Ends those of one session, or all. */
  async end(sessionId?: string): Promise<void> {
    const ended = [...this.#terminals].filter(([, terminal]) => {
      return sessionId === undefined || terminal.sessionId === sessionId;
    });
    for (const [id] of ended) this.#terminals.delete(id);
    await Promise.all(ended.map(([, { child }]) => child.stop()));
  }

  async #start(request: CreateTerminalRequest): Promise<RunningTerminal> {
    const { sessionId, command, args = [], env = [], cwd, outputByteLimit } = request;
    const roots = await this.#options.files.roots();
    const extra = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const { isolation, graceMs, agentId, log } = this.#options;
    const start = await isolate(
      {
        command: '/bin/sh',
        args: [...JOINED, command, ...args],
        cwd: cwd == null ? roots.home : await roots.locate(cwd),
        env: childEnvironment({ extra }),
        graceMs,
        ...(agentId !== undefined && { agentId }),
      },
      isolation,
      log,
    );
    const child = await spawnProcess(start);
    child.stdin.end();
    const limit = Math.min(outputByteLimit ?? MAX_OUTPUT, MAX_OUTPUT);
    const tail = new StderrTail(limit);
    const done = Promise.withResolvers<void>();
    const terminal: RunningTerminal = {
      sessionId,
      child,
      tail,
      limit,
      read: done.promise,
      written: 0,
      exit: undefined,
    };
    child.stdout.on('data', (chunk: Buffer) => {
      terminal.written += chunk.length;
      tail.push(chunk);
    });
    for (const event of ['end', 'close', 'error']) child.stdout.once(event, () => done.resolve());
    void child.exited.then((exit) => {
      terminal.exit = exit;
    });
    return terminal;
  }

  #find({ sessionId, terminalId }: Named): RunningTerminal {
    const terminal = this.#terminals.get(terminalId);
    if (terminal?.sessionId === sessionId) return terminal;
    throw new RequestError(-32_002, 'There is no such terminal', { terminalId });
  }

  #assertAllowed(): void {
    if (!this.#options.allowed) {
      throw new FabricError('POLICY_DENIED', 'The agent may not run programs here', {
        details: { reason: 'terminal_denied' },
      });
    }
    if (this.#terminals.size + this.#starting < MAX_TERMINALS) return;
    throw new FabricError('BAD_INPUT', 'Too many terminals are open', {
      details: { reason: 'too_many_terminals' },
    });
  }
}
