import type { Command } from 'commander';

/** What `starloom` says when it is asked for nothing. */
export function welcome(program: Command, { json }: { readonly json: boolean }): string {
  const commands = program.commands.flatMap((group) =>
    group.commands.map((command) => ({
      name: `${group.name()} ${command.name()}`,
      description: command.description(),
    })),
  );
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
    '  starloom config show --effective   every setting, and where its value comes from',
    '  starloom config validate           check starloom.yaml and the agents it names',
    '  starloom --help                    all options',
  ].join('\n');
}
