import { Argument, type Command } from 'commander';
import type { ConfigKind } from '../config-files.ts';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

/** Named here, so that no schema is loaded for a command that needs none. */
const KINDS: readonly ConfigKind[] = ['starloom', 'agents', 'agent', 'agent-toml'];

export function addConfigCommands(program: Command, terminal: Terminal): void {
  const config = program.command('config').description('check, show and describe configuration');

  config
    .command('validate')
    .description('check configuration files; exits 78 when one is bad')
    .argument('[file...]', 'default: the gateway file and the agents.yaml it names')
    .option('--no-secrets', 'do not look up env: and file: references')
    .action(async (files: string[], options: { secrets: boolean }, command: Command) => {
      const { validateConfig } = await import('./config-validate.ts');
      await validateConfig(terminal, files, { ...globalsOf(command), ...options });
    });

  config
    .command('show')
    .description('print what the gateway file sets, secrets as references')
    .option('--effective', 'with variables and defaults, and where each value comes from')
    .action(async (options: { effective?: true }, command: Command) => {
      const { showConfig } = await import('./config-show.ts');
      await showConfig(terminal, { ...globalsOf(command), ...options });
    });

  config
    .command('schema')
    .description('print the JSON Schema of a file, for editors')
    .addArgument(new Argument('[file]', 'which file').choices(KINDS).default('starloom'))
    .action(async (kind: ConfigKind) => {
      const { jsonSchemaFor } = await import('../config-files.ts');
      terminal.print(JSON.stringify(jsonSchemaFor(kind), null, 2));
    });
}

function globalsOf(command: Command): GlobalOptions {
  return command.optsWithGlobals<GlobalOptions>();
}
