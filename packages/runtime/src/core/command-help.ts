import type { ITool, JsonSchema } from '@starloom/sdk';
import { propertiesOf, typesOf } from './command-arguments.ts';

/** `/read <path> [limit]`: in the order in which values without a name are taken. */
export function usageOf(name: string, tool: ITool): string {
  const words = Object.entries(propertiesOf(tool)).map(([key, schema]) => {
    const types = typesOf(schema);
    const shown = types.has('array') ? `${key}…` : key;
    if (requiredOf(tool).has(key)) return `<${shown}>`;
    return types.has('boolean') ? `[--${key}]` : `[${shown}]`;
  });
  return [`/${name}`, ...words].join(' ');
}

/** Every command, one line each. */
export function helpForAll(tools: readonly (readonly [name: string, tool: ITool])[]): string {
  const rows = tools.map(([name, tool]) => [usageOf(name, tool), firstSentence(tool.description)]);
  rows.push(['/help [command]', 'All commands, or how to use one.']);
  const width = Math.min(40, Math.max(...rows.map(([usage = '']) => usage.length)));
  return rows.map(([usage = '', what]) => `${usage.padEnd(width)}  ${what}`).join('\n');
}

export function helpForOne(name: string, tool: ITool): string {
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
