import type { Command } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';

export function addRpcCommand(program: Command, terminal: Terminal): void {
  program
    .command('rpc')
    .description('sessions, shared context and locks as JSON-RPC, for a client that has only pipes')
    .option('--stdio', 'over standard input and output, one message a line')
    .action(async (options: { stdio?: true }, command: Command) => {
      if (!options.stdio) throw toUsageError('say --stdio; over HTTP it is part of "starloom up"');
      const { serveRpc } = await import('./rpc-run.ts');
      await serveRpc(terminal, command.optsWithGlobals<GlobalOptions>());
    });
}
