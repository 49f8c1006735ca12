// `/read notes.txt` runs the same tool, on the same path, as a call of the model: only the origin
// differs. A line that begins with a slash and a name is a command, and never reaches the model.

import { closestWord, normalName } from '@starloom/core';
import type { ITool, JsonSchema, ToolCall } from '@starloom/sdk';
import { propertiesOf, splitWords, toArguments, typesOf } from './command-arguments.ts';
import { shortName } from './tool-registry.ts';

type Tools = ReadonlyMap<string, ITool>;

export type SlashCommand =
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'problem'; readonly text: string };

const COMMAND = /^\/([A-Za-z0-9][^\s/]*)(?=\s|$)/;
const HELP = 'help';

/** `undefined` when the text is no command. */
export function parseSlashCommand(text: string, tools: Tools): SlashCommand | undefined {
  const [start, name] = COMMAND.exec(text.trimStart()) ?? [];
  if (start === undefined || name === undefined) return undefined;
  const words = splitWords(text.trimStart().slice(start.length));
  if (words === undefined) return problem('a quote is not closed');
  const { tool, problem: unknown } = findTool(name, tools);
  if (!tool) return name === HELP ? help(words[0]?.text, tools) : problem(unknown);
  const parsed = toArguments(tool, words);
  if ('problem' in parsed) return problem(`${parsed.problem}\nUsage: ${usageOf(name, tool)}`);
  return { kind: 'call', call: { name: tool.name, args: parsed.args } };
}

/** What can be typed, for completion: the shortest name of each tool that means it alone. */
export function listSlashCommands(tools: Tools): (readonly [name: string, tool: ITool])[] {
  const named = [...tools.values()].map((tool) => [commandName(tool, tools), tool] as const);
  return named.toSorted(([a], [b]) => a.localeCompare(b));
}

function help(topic: string | undefined, tools: Tools): SlashCommand {
  if (topic === undefined) return { kind: 'help', text: helpForAll(listSlashCommands(tools)) };
  const { tool, problem: unknown } = findTool(topic.replace(/^\//, ''), tools);
  if (!tool) return problem(unknown);
  return { kind: 'help', text: helpForOne(commandName(tool, tools), tool) };
}

function commandName(tool: ITool, tools: Tools): string {
  const names = [tool.command, shortName(tool.name)].filter((name) => name !== undefined);
  return names.find((name) => findTool(name, tools).tool === tool) ?? tool.name;
}

type Found =
  | { readonly tool: ITool; readonly problem?: undefined }
  | { readonly tool?: undefined; readonly problem: string };

/** A full name wins over a command, a command over the last part of a name. */
function findTool(name: string, tools: Tools): Found {
  const all = [...tools.values()];
  const ways: ((tool: ITool) => boolean)[] = [
    (tool) => tool.name === name || normalName(tool.name) === name,
    (tool) => tool.command === name,
    (tool) => shortName(tool.name) === name,
  ];
  for (const isMeant of ways) {
    const [tool, ...others] = all.filter(isMeant);
    if (tool === undefined) continue;
    if (others.length === 0) return { tool };
    const names = [tool, ...others].map((one) => `/${one.name}`).join(', ');
    return { problem: `/${name} could be ${names}: say which` };
  }
  const known = all.flatMap((tool) => [tool.command ?? shortName(tool.name), tool.name]);
  const near = closestWord(name, [...known, HELP]);
  const hint = near === undefined ? '' : `; did you mean /${near}?`;
  return { problem: `there is no command /${name}${hint}` };
}

function problem(text: string): SlashCommand {
  return { kind: 'problem', text };
}

/** `/read <path> [limit]`: in the order in which values without a name are taken. */
function usageOf(name: string, tool: ITool): string {
  const words = Object.entries(propertiesOf(tool)).map(([key, schema]) => {
    const types = typesOf(schema);
    const shown = types.has('array') ? `${key}…` : key;
    if (requiredOf(tool).has(key)) return `<${shown}>`;
    return types.has('boolean') ? `[--${key}]` : `[${shown}]`;
  });
  return [`/${name}`, ...words].join(' ');
}

/** Every command, one line each. */
function helpForAll(tools: readonly (readonly [name: string, tool: ITool])[]): string {
  const rows = tools.map(([name, tool]) => [usageOf(name, tool), firstSentence(tool.description)]);
  rows.push(['/help [command]', 'All commands, or how to use one.']);
  const width = Math.min(40, Math.max(...rows.map(([usage = '']) => usage.length)));
  return rows.map(([usage = '', what]) => `${usage.padEnd(width)}  ${what}`).join('\n');
}

function helpForOne(name: string, tool: ITool): string {
  const required = requiredOf(tool);
  const parameters = Object.entries(propertiesOf(tool)).map(([key, schema]) => {
    const notes = [
      [...typesOf(schema)].join(' or ') || 'anything',
      required.has(key) ? 'required' : 'optional',
      ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
      ...(Array.isArray(schema.enum) ? [`one of ${schema.enum.join(', ')}`] : []),
    ];
    return `  ${key} (${notes.join('; ')})${describe(schema)}`;
  });
  const heading = `${usageOf(name, tool)}\n${tool.description}\nRuns ${tool.name}.`;
  return parameters.length === 0 ? heading : `${heading}\n\n${parameters.join('\n')}`;
}

function describe({ description }: JsonSchema): string {
  return typeof description === 'string' ? `  ${description}` : '';
}

function requiredOf({ parameters }: ITool): ReadonlySet<unknown> {
  return new Set(Array.isArray(parameters.required) ? parameters.required : []);
}

function firstSentence(text: string): string {
  const [line = ''] = text.split('\n');
  return line.replace(/([.!?])\s.*$/, '$1');
}
