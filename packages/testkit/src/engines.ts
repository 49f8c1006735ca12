// The engines that tests use: how each is found, started and asked whether it is ready.

import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import type { ProgramDefinition } from './program.ts';
import { runProgram } from './run-program.ts';

export interface ServerDefinition {
  readonly program: ProgramDefinition;
  /** Whom it runs as when we are root, for servers that refuse to be root. */
  readonly user?: string;
  /** Sent before SIGTERM, where that would wait for clients to leave. */
  readonly stopSignal?: NodeJS.Signals;
  /** Makes an empty folder ready for the first start. */
  prepare?(setup: ServerSetup): Promise<void>;
  args(setup: ServerSetup): readonly string[];
  url(port: number): string;
  /** Whether it answers; a rejection counts as not yet. */
  isReady(port: number): Promise<boolean>;
}

export interface ServerSetup {
  readonly path: string;
  readonly folder: string;
  readonly port: number;
  /** Empty when it runs as we do. */
  readonly owner: { readonly uid?: number; readonly gid?: number };
}

/** What was written survives a kill: every command goes to the append-only file. */
export const redis: ServerDefinition = {
  program: { names: ['redis-server'], package: 'redis-server' },
  args: ({ folder, port }) => [
    ...['--bind', '127.0.0.1', '--port', String(port), '--dir', folder],
    ...['--appendonly', 'yes', '--save', '', '--daemonize', 'no'],
  ],
  url: (port) => `redis://127.0.0.1:${port}`,
  isReady: async (port) => (await firstAnswer(port, 'PING\r\n')).startsWith('+PONG'),
};

/** Anybody on loopback is `postgres`. A kill of the server loses nothing; a power cut would. */
export const postgres: ServerDefinition = {
  program: {
    names: ['postgres'],
    package: 'postgresql',
    folders: ['/usr/lib/postgresql/*/bin', '/opt/homebrew/opt/postgresql@*/bin'],
  },
  user: 'postgres',
  prepare: initialize,
  args: ({ folder, port }) => [
    ...['-D', dataFolder(folder), '-p', String(port)],
    ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    ...['-c', 'fsync=off', '-c', 'full_page_writes=off'],
  ],
  stopSignal: 'SIGINT',
  url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
  isReady: async (port) => (await firstAnswer(port, startupMessage())).startsWith('R'),
};

async function initialize({ path, folder, owner }: ServerSetup): Promise<void> {
  const { code, stderr } = await runProgram({
    command: join(dirname(await realpath(path)), 'initdb'),
    args: [
      ...['-D', dataFolder(folder), '--username=postgres', '--auth=trust'],
      ...['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    ],
    cwd: folder,
    ...owner,
  });
  if (code !== 0) throw new Error(`initdb failed:\n${stderr}`);
}

function dataFolder(folder: string): string {
  return join(folder, 'data');
}

/** Protocol 3.0; while it starts up the server answers with an error (`E`) instead of `R`. */
function startupMessage(): Buffer {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const message = Buffer.alloc(8 + parameters.length);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(196_608, 4);
  parameters.copy(message, 8);
  return message;
}

export const chromium: { readonly program: ProgramDefinition } = {
  program: {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    package: 'chromium',
  },
};

/** A browser for one test: no window, no sandbox (root has none), no calls home, no memory. */
export function chromiumArguments(userDataFolder: string): string[] {
  return [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    `--user-data-dir=${userDataFolder}`,
  ];
}

/** The first bytes a loopback server sends back, within a second. */
async function firstAnswer(port: number, request: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(request);
    const [answer] = await once(socket, 'data', { signal: AbortSignal.timeout(1_000) });
    return String(answer);
  } finally {
    socket.destroy();
  }
}
