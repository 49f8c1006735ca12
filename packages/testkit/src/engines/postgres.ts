import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '../run-program.ts';
import { firstAnswer } from './first-answer.ts';
import type { ServerDefinition, ServerSetup } from './server.ts';

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
