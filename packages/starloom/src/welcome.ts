import type { Command } from 'commander';

/** What `starloom` says when it is asked for nothing. */
export function welcome(program: Command, { json }: { readonly json: boolean }): string {
  const commands = program.commands.flatMap((command) => leavesOf(command));
  const version = program.version() ?? '';
  if (json) return JSON.stringify({ name: program.name(), version, commands });

  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    `starloom ${version}: one fabric for every agent.`,
    'Any MCP client reaches every agent through one endpoint, whatever protocol the agent speaks.',
    '',
    'Commands',
    ...commands.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    '',
    'Try next',
    '  starloom up                     run the gateway; without a configuration, with sample agents',
    '  starloom agents add --help      put an MCP server behind it',
    '  starloom agents import <file>   take over the servers of another MCP client',
    '  starloom --help                 all options',
  ].join('\n');
}

/** A command as people type it, or those below it. */
function leavesOf(command: Command, above = ''): { name: string; description: string }[] {
  const name = `${above}${command.name()}`;
  if (command.commands.length === 0) return [{ name, description: command.description() }];
  return command.commands.flatMap((below) => leavesOf(below, `${name} `));
}
