// Tables of pages that are written by hand: what the code has a table of stands between two marks.

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { COMMANDS } from '../packages/starloom/src/commands.ts';
import { createProgram } from '../packages/starloom/src/program.ts';
import type { Terminal } from '../packages/starloom/src/terminal.ts';
import { ATTACKS } from '../prove/abuse/attacks/index.ts';

const NOWHERE = { env: {}, columns: undefined, print: () => {}, tell: () => {} };
const program = await createProgram(NOWHERE as unknown as Terminal, Object.keys(COMMANDS));

export function commandsPage(): string {
  const rows = program.commands.flatMap((command) => commandRows(command, 'starloom'));
  return withTable('docs/cli.md', 'commands', ['Command', 'Does', 'Options'], rows);
}

export function attacksPage(): string {
  const rows = Object.entries(ATTACKS).map(([name, { about }]) => [`\`${name}\``, about]);
  return withTable('docs/proving.md', 'attacks', ['Attack', 'What is done'], rows);
}

function commandRows(command: Command, above: string): string[][] {
  const words = `${above} ${command.name()}`;
  if (command.commands.length > 0) {
    return command.commands.flatMap((below) => commandRows(below, words));
  }
  const takes = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '...' : '');
    return argument.required ? ` <${name}>` : ` [${name}]`;
  });
  const options = command.options.filter(({ hidden }) => !hidden).map(({ long }) => `\`${long}\``);
  return [[`\`${words}${takes.join('')}\``, command.description(), options.join(', ')]];
}

function withTable(
  path: string,
  name: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const page = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const table = [head, head.map(() => '---'), ...rows].map(line).join('\n');
  const [begin, end] = [`<!-- ${name}: written by "npm run docs" -->`, `<!-- /${name} -->`];
  const [before, rest = ''] = page.split(begin);
  const [old, after] = rest.split(end);
  if (old === undefined || after === undefined) throw new Error(`${path} has no marks "${name}"`);
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}
