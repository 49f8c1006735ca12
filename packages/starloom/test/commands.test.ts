import { Command, Help } from 'commander';
import { describe, expect, it } from 'vitest';
import { asTyped, COMMANDS } from '../src/commands.ts';
import { createProgram, welcome } from '../src/program.ts';
import type { Terminal } from '../src/terminal.ts';

const NAMES = Object.keys(COMMANDS);

describe('the table of commands', () => {
  it.each(NAMES)('says of "%s" what its file takes', async (name) => {
    const [takes, , load] = COMMANDS[name] ?? expect.unreachable();
    const command = new Command(name);
    (await load()).define(command, {} as Terminal);
    expect(new Help().subcommandTerm(command)).toBe(`${name} ${takes}`.trimEnd());
  });
});

describe('help', () => {
  it('fits a terminal of 80 columns, for every command', async () => {
    const terminal = { env: {}, columns: 80 } as Terminal;
    const program = await createProgram(terminal, NAMES);
    const shown = [await welcome(terminal, false), ...helpOf(program)];
    const lines = shown.flatMap((text) => text.split('\n'));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });
});

/** Of a command and of all below it. */
function helpOf(command: Command): string[] {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) });
  command.outputHelp();
  return [parts.join(''), ...command.commands.flatMap(helpOf)];
}

describe('commands in messages', () => {
  it('are written as they are typed where npm started the program', () => {
    const text = 'starloom is up\n  starloom up\nstart one with "starloom up"; starloom uptime';
    expect(asTyped(text, { npm_command: 'exec' })).toBe(
      'starloom is up\n  npx starloom up\nstart one with "npx starloom up"; starloom uptime',
    );
    expect(asTyped(text, {})).toBe(text);
  });

  it.each([...NAMES, '--help'])('include "starloom %s"', (name) => {
    expect(asTyped(`see "starloom ${name}"`, { npm_command: 'exec' })).toBe(
      `see "npx starloom ${name}"`,
    );
  });
});
