import { type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';
import { examples } from './examples.ts';

export function addUpCommand(program: Command, terminal: Terminal): void {
  program
    .command('up')
    .description('run the gateway; with no configuration it runs sample agents')
    .option('--stdio', 'serve one MCP client over standard input and output')
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', toPort)
    .option('--host <host>', 'address to listen on')
    .option('--samples', 'run the sample agents beside your own')
    .addHelpText(
      'before',
      examples(
        ['starloom up', 'serve ./starloom.yaml and ./agents.yaml, or sample agents'],
        ['starloom up --port 0 --json', 'for scripts: one JSON line when it serves'],
        ['starloom up --stdio', 'as the command of an MCP client'],
      ),
    )
    .action(async (_, command: Command) => {
      const { up } = await import('./up-run.ts');
      await up(terminal, command.optsWithGlobals<GlobalOptions & UpOptions>());
    });
}

export interface UpOptions {
  readonly stdio?: true;
  readonly port?: number;
  readonly host?: string;
  readonly samples?: true;
}

function toPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a number from 0 to 65535.');
}
