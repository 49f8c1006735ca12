// The composition root: the only file that knows every concrete part. Parts are loaded when a
// command needs them, so that `starloom --help` stays quick.

import { type Command, CommanderError } from 'commander';
import { leaveUnread } from './command-line.ts';
import { asTyped } from './commands.ts';
import { createProgram, welcome } from './program.ts';
import { createTerminal, type Terminal } from './terminal.ts';

process.exitCode = await run(process.argv.slice(2), createTerminal(process));
leaveUnread();

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const json = args.includes('--json');
  if (args.every((word) => word === '--json')) {
    terminal.print(asTyped(await welcome(terminal, json), terminal.env));
    return 0;
  }
  const program = await createProgram(terminal, args);
  try {
    await program.parseAsync(args, { from: 'user' });
    return terminal.exitCode;
  } catch (error) {
    if (isHelp(error)) return error.code === 'commander.help' ? 64 : 0;
    const { reportError, toUsageError, withHelp } = await import('./report-error.ts');
    const command = commandIn(program, args);
    const isAdd = command === 'starloom agents add' && !args.includes('--');
    const fix = isAdd ? `write "--" before the command; see "${command} --help"` : undefined;
    const known = error instanceof CommanderError ? toUsageError(error.message, fix) : error;
    return reportError(withHelp(known, command), { json, tell: terminal.tell });
  }
}

function commandIn(program: Command, args: readonly string[]): string {
  const words = [];
  let at: Command | undefined = program;
  for (const word of args) {
    at = at.commands.find((command) => command.name() === word);
    if (at === undefined) break;
    words.push(word);
  }
  return ['starloom', ...words].join(' ');
}

/** Help and version are thrown by commander once they are printed. */
function isHelp(error: unknown): error is CommanderError {
  if (!(error instanceof CommanderError)) return false;
  return ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(error.code);
}
