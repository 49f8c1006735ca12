import { firstAnswer } from './first-answer.ts';
import type { ServerDefinition } from './server.ts';

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
