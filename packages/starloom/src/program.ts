import { Command, Help } from 'commander';
import { readVersion } from './command-line.ts';
import { asTyped, COMMANDS } from './commands.ts';
import type { Terminal } from './terminal.ts';

const EVERY = 'completion';

/** With the commands whose names are among `words`; the others are there for help alone. */
export async function createProgram(terminal: Terminal, words: readonly string[]) {
  const help = new Help();
  const program: Command = new Command('starloom')
    .description('One fabric for every agent.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--json', 'print data and errors as JSON')
    .option('-c, --config <file>', 'the gateway file (else $STARLOOM_CONFIG, ./starloom.yaml)')
    .helpOption('-h, --help', 'print help')
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command: Command) => {
        const row = command.parent === program ? COMMANDS[command.name()] : undefined;
        return row ? `${command.name()} ${row[0]}`.trimEnd() : help.subcommandTerm(command);
      },
    })
    .configureOutput({
      writeOut: (text) => terminal.print(asTyped(text, terminal.env)),
      writeErr: terminal.tell,
      outputError: () => {},
      getOutHelpWidth: () => terminal.columns ?? 100,
    })
    .exitOverride();
  for (const [name, [, does, load]] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(does);
    if (words.includes(name) || words[0] === EVERY) (await load()).define(command, terminal);
  }
  return program;
}

export async function welcome(terminal: Terminal, json: boolean): Promise<string> {
  const program = await createProgram(terminal, Object.keys(COMMANDS));
  const commands = program.commands.flatMap((command) => leavesOf(command));
  const version = program.version() ?? '';
  if (json) return JSON.stringify({ name: program.name(), version, commands });

  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    `starloom ${version}: one fabric for every agent.`,
    'Any MCP client reaches every agent through one endpoint.',
    '',
    'Commands',
    ...commands.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    '',
    'Try next',
    '  starloom up                     run the gateway, at first with sample agents',
    '  starloom agents add --help      put an MCP server behind it',
    '  starloom agents import <file>   take over the servers of another MCP client',
    '  starloom --help                 all options',
  ].join('\n');
}

function leavesOf(command: Command, above = ''): { name: string; description: string }[] {
  const name = `${above}${command.name()}`;
  if (command.commands.length === 0) return [{ name, description: command.description() }];
  return command.commands.flatMap((below) => leavesOf(below, `${name} `));
}
