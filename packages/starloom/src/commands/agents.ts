// The commands about which agents there are, and those that add and remove them.

import type { EditorAgentName } from '@starloom/adapters';
import { TRUST_TIERS } from '@starloom/core';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { action, type GlobalOptions, toLimit, toList, withExamples } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

export interface AgentsOptions extends GlobalOptions {
  readonly capability?: string;
  readonly tag?: string;
  readonly tier?: string;
  readonly status?: string;
  readonly modality?: string;
}

export interface AddOptions extends GlobalOptions {
  readonly acp?: EditorAgentName;
  readonly name?: string;
  readonly protocol?: string;
  readonly tier?: (typeof TRUST_TIERS)[number];
  readonly tag?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly header?: Readonly<Record<string, string>>;
  readonly server?: string;
  readonly capability?: readonly string[];
  readonly callbackKey?: readonly string[];
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly force?: true;
  readonly dryRun?: true;
  readonly wait: boolean;
}

export interface ImportOptions extends GlobalOptions {
  readonly apply?: true;
  readonly only?: readonly string[];
  readonly tier?: (typeof TRUST_TIERS)[number];
  readonly force?: true;
}

export interface ApproveOptions extends GlobalOptions {
  readonly tool?: readonly string[];
  readonly all?: true;
  readonly dryRun?: true;
  readonly yes?: true;
}

export function define(agents: Command, terminal: Terminal): void {
  withExamples(agents, [
    ['starloom agents', 'available agents'],
    ['starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .', ''],
    ['starloom agents import .mcp.json', 'the servers of another client'],
    ['starloom agents tools files', 'what an agent offers'],
  ]);
  agents
    .command('list', { isDefault: true })
    .description('list agents')
    .argument('[agent]', 'this one alone, as "describe" shows it')
    .option('--capability <name>', 'only agents that offer it')
    .option('--tag <tag>', 'only agents with this tag')
    .option('--tier <tier>', 'only agents of this trust tier')
    .option('--status <status>', 'only agents in this state')
    .option('--modality <modality>', 'only agents that handle it')
    .action(async (agent: string | undefined, _, command: Command) => {
      const options = command.optsWithGlobals<AgentsOptions>();
      const { describeAgent, listAgents } = await import('./agents-show.ts');
      if (agent === undefined) return await listAgents(terminal, options);
      const commands = agents.commands.map((each) => each.name());
      await describeAgent(terminal, agent, { ...options, commands });
    });
  agents
    .command('describe')
    .description('show one agent: health, capabilities and their arguments')
    .argument('<agent>')
    .action(action(terminal, async () => (await import('./agents-show.ts')).describeAgent));
  agents
    .command('tools')
    .description('show the tools of one agent')
    .argument('<agent>')
    .action(action(terminal, async () => (await import('./agents-show.ts')).showTools));
  agents
    .command('history')
    .description('show when the health of an agent changed')
    .argument('<agent>')
    .option('--limit <number>', 'how many changes, the newest first', toLimit, 50)
    .action(action(terminal, async () => (await import('./agents-show.ts')).showHistory));

  withExamples(agents.command('add'), [
    ['starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem .', ''],
    ['starloom agents add github --env TOKEN=env:GITHUB_TOKEN -- docker run -i …', ''],
    ['starloom agents add https://example.com/mcp --header "X-Api-Key=env:KEY"', ''],
    ['starloom agents add https://agent.example.com/.well-known/agent-card.json', 'A2A'],
    ['starloom agents add ./my-agent', 'made with "agent init"'],
    ['starloom agents add --acp claude', 'an agent made for editors'],
  ])
    .description('put an MCP server, a REST API or an agent behind the gateway')
    .usage(
      '<name> -- <command> [arguments]\n       starloom agents add [name] <url> | <folder> | <document> | --acp <agent>',
    )
    .argument(
      '[agent]',
      'a name before "-- <command>"; a URL; the folder of an agent.json; an OpenAPI document',
    )
    .argument('[command...]', 'after "--": the program that serves MCP on standard input')
    .option('--acp <agent>', 'one made for editors: claude, codex, gemini, opencode, qwen, goose …')
    .option('--name <id>', 'what it is called, with a URL or a folder')
    .option(
      '--protocol <name>',
      'what it speaks: mcp (default), a2a (recognised by its card), http, agent-communication-protocol, agent-zero, …',
    )
    .addOption(new Option('--tier <tier>', 'how far it is trusted').choices([...TRUST_TIERS]))
    .option('--tag <tag>', 'a word to find it by; repeatable', toList)
    .option(
      '--env <name=value>',
      'for the program; env:NAME keeps a secret out of the file',
      toPair,
    )
    .option('--header <name=value>', 'for a URL; env:NAME and "Bearer env:NAME" work too', toPair)
    .option('--server <url>', 'where calls of an OpenAPI document go')
    .option('--include <glob>', 'only tools that match; repeatable', toList)
    .option('--exclude <glob>', 'no tools that match; repeatable', toList)
    .option('--capability <name>', 'for protocols that cannot be asked; repeatable', toList)
    .option(
      '--callback-key <scope>',
      'make a key with which it calls the gateway, and what that may do (agent:files); repeatable',
      toList,
    )
    .option('--force', 'replace an agent of this name')
    .option('--no-wait', 'do not wait until the gateway reached it')
    .option('--dry-run', 'show what would be written')
    .action(action(terminal, async () => (await import('./agents-add.ts')).addAgent));

  withExamples(agents.command('import'), [
    ['starloom agents import .mcp.json', 'what would be added'],
    ['starloom agents import ~/.codex/config.toml --apply', ''],
    ['starloom agents import .vscode/mcp.json --only github --apply', ''],
  ])
    .description('show the MCP servers of another client; --apply adds them')
    .argument('<file>', 'of Claude, Cursor, VS Code, Codex, Zed …')
    .option('--apply', 'write them into the file of agents, and keep a backup of it')
    .option('--only <name>', 'this server alone; repeatable', toList)
    .addOption(new Option('--tier <tier>', 'how far they are trusted').choices([...TRUST_TIERS]))
    .option('--force', 'replace agents that have the same name')
    .action(action(terminal, async () => (await import('./agents-import.ts')).importAgents));

  agents
    .command('login')
    .description('log in as a person to an agent that wants OAuth tokens')
    .argument('<agent>')
    .option('--scope <scopes>', 'more scopes to ask for, such as an error of the agent names')
    .action(action(terminal, async () => (await import('./agents-login.ts')).loginToAgent));
  agents
    .command('logout')
    .description('remove the tokens of a login, and revoke them at the server')
    .argument('<agent>')
    .action(action(terminal, async () => (await import('./agents-login.ts')).logoutFromAgent));

  withExamples(agents.command('approve'), [
    ['starloom agents approve files', 'asks after it has shown the changes'],
    ['starloom agents approve --all --dry-run', 'all that waits'],
  ])
    .description('show what an agent changed in its tools, and approve it')
    .argument('[agent]')
    .option('--tool <name>', 'this tool alone; repeatable', toList)
    .option('--all', 'of every agent')
    .option('--dry-run', 'show the changes and approve nothing')
    .option('-y, --yes', 'do not ask')
    .action(action(terminal, async () => (await import('./agents-approve.ts')).approveAgents));
  agents
    .command('remove')
    .alias('rm')
    .description('take an agent out of the file of agents')
    .argument('<agent>')
    .option('-y, --yes', 'do not ask')
    .action(action(terminal, async () => (await import('./agents-remove.ts')).removeAgent));
}

/** `NAME=value`, and `Name: value` as headers are often written. */
function toPair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^=:\s]+)(?:=|:\s+)(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('expected NAME=value.');
  return { ...before, [name]: value };
}
