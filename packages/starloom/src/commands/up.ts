import { type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export function addUpCommand(program: Command, terminal: Terminal): void {
  program
    .command('up')
    .description('run the gateway; with no configuration it runs sample agents')
    .option('--stdio', 'serve one MCP client over standard input and output')
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort)
    .option('--host <host>', 'address to listen on')
    .action(async (_, command: Command) => {
      const { up } = await import('./up-run.ts');
      await up(terminal, command.optsWithGlobals<GlobalOptions & UpOptions>());
    });
}

export interface UpOptions {
  readonly stdio?: true;
  readonly port?: number;
  readonly host?: string;
}

function toPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a number from 0 to 65535.');
}
