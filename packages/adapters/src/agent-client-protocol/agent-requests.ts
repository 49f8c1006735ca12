// What an agent may ask of its client, and who answers: the turn of the session for questions, the
// root of the manifest for files and programs. A session that is not known here gets nothing.

import { randomUUID } from 'node:crypto';
import {
  type ClientApp,
  type CreateTerminalRequest,
  type CreateTerminalResponse,
  client,
  methods,
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  RequestError,
  type TerminalOutputResponse,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk';
import { FabricError, type Log, toFields } from '@starloom/core';
import {
  childEnvironment,
  type ManagedProcess,
  type ProcessExit,
  StderrTail,
  spawnProcess,
} from '@starloom/wire';
import { fileFailure, Roots, readText, replaceFile } from '@starloom/wire/files';
import { failure } from '../reasons.ts';
import { isolate } from '../upstream/isolation.ts';
import type { Settings } from './options.ts';
import { CANCELLED } from './prompt-turn.ts';
import type { EditorSession } from './sessions.ts';

interface AgentRequestsOptions {
  readonly find: (sessionId: string) => EditorSession | undefined;
  readonly files: ServedFiles;
  readonly terminals: Terminals;
}

export function answerAgent({ find, files, terminals }: AgentRequestsOptions): ClientApp {
  const turnOf = (params: unknown) => {
    const { sessionId } = toFields(params);
    return typeof sessionId === 'string' ? find(sessionId)?.running?.turn : undefined;
  };
  const known = <Params extends { sessionId: string }>(params: Params): Params => {
    if (find(params.sessionId)) return params;
    throw new RequestError(-32_002, 'There is no such session', { sessionId: params.sessionId });
  };
  const { session, fs, terminal, elicitation } = methods.client;
  return client({ name: 'starloom' })
    .onRequest(
      session.requestPermission,
      ({ params }) => turnOf(params)?.permission(params) ?? CANCELLED,
    )
    .onRequest(
      elicitation.create,
      ({ params }) => turnOf(params)?.elicit(params) ?? { action: 'cancel' },
    )
    .onRequest(fs.readTextFile, ({ params }) => files.read(known(params)))
    .onRequest(fs.writeTextFile, ({ params }) => files.write(known(params)))
    .onRequest(terminal.create, ({ params }) => terminals.create(known(params)))
    .onRequest(terminal.output, ({ params }) => terminals.output(params))
    .onRequest(terminal.waitForExit, ({ params }) => terminals.waitForExit(params))
    .onRequest(terminal.kill, ({ params }) => terminals.kill(params))
    .onRequest(terminal.release, ({ params }) => terminals.release(params));
}

const MAX_FILE_BYTES = 8_388_608;

/**
 * Files below the root that the manifest names, served to the agent. Without a root, or beyond it,
 * every request is refused.
 */
export class ServedFiles {
  readonly #root: string | undefined;
  readonly #mayWrite: boolean;
  #roots: Promise<Roots> | undefined;

  constructor({ root, options }: Settings) {
    this.#root = root;
    this.#mayWrite = options.files === 'write';
  }

  get capabilities() {
    const isServed = this.#root !== undefined;
    return { readTextFile: isServed, writeTextFile: isServed && this.#mayWrite };
  }

  async read({ path, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    return orRequestError(async () => {
      const { text } = await readText(await this.roots(), path, MAX_FILE_BYTES);
      if (line == null && limit == null) return { content: text };
      const first = Math.max(0, (line ?? 1) - 1);
      const lines = text.split(/(?<=\n)/);
      return { content: lines.slice(first, first + (limit ?? lines.length)).join('') };
    });
  }

  async write({ path: given, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    return orRequestError(async () => {
      if (!this.#mayWrite) throw failure('read_only');
      if (Buffer.byteLength(content) > MAX_FILE_BYTES) throw failure('content_too_large');
      const roots = await this.roots();
      const path = await roots.locate(given);
      await replaceFile(roots, { path, content }).catch((error: unknown) => {
        throw fileFailure(error, given);
      });
      return {};
    });
  }

  /** POLICY_DENIED when the manifest names no root. */
  roots(): Promise<Roots> {
    if (this.#root === undefined) throw failure('no_root');
    this.#roots ??= Roots.open([this.#root], '.');
    return this.#roots;
  }
}

/**
 * Errors of ours as the agent understands them: what is missing, and what is not allowed. Agents look
 * for the words "Resource not found" before they create a file.
 */
async function orRequestError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message, details } = FabricError.from(error);
    const { reason, path } = details;
    if (reason === 'not_found') throw RequestError.resourceNotFound(String(path));
    const number = code === 'BAD_INPUT' || code === 'POLICY_DENIED' ? -32_602 : -32_603;
    throw new RequestError(number, message, { reason });
  }
}

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

const MAX_TERMINALS = 32;
const MAX_OUTPUT = 1_048_576;
/** Standard error joins standard output, in the order in which the program writes. */
const JOINED = ['-c', 'exec "$@" 2>&1', 'sh'];

/**
 * Programs that an agent runs through the gateway, below the root, when the manifest allows it.
 * Each ends with its session at the latest; of what it writes the last part is kept.
 */
export class Terminals {
  readonly #settings: Settings;
  readonly #files: ServedFiles;
  readonly #log: Log;
  readonly #terminals = new Map<string, RunningTerminal>();
  #starting = 0;

  constructor(settings: Settings, files: ServedFiles, log: Log) {
    this.#settings = settings;
    this.#files = files;
    this.#log = log;
  }

  create(request: CreateTerminalRequest): Promise<CreateTerminalResponse> {
    return orRequestError(async () => {
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
    const roots = await this.#files.roots();
    const extra = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const { isolation, options, start: agent } = this.#settings;
    const start = await isolate(
      {
        command: '/bin/sh',
        args: [...JOINED, command, ...args],
        cwd: cwd == null ? roots.home : await roots.locate(cwd),
        env: childEnvironment({ extra }),
        graceMs: options.grace_ms,
        ...(agent.agentId !== undefined && { agentId: agent.agentId }),
      },
      isolation,
      this.#log,
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
    if (!this.#settings.options.terminal) throw failure('terminal_denied');
    if (this.#terminals.size + this.#starting < MAX_TERMINALS) return;
    throw failure('too_many_terminals');
  }
}
