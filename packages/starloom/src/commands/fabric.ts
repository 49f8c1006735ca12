// The commands about the agents of a gateway.

import { type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';

export interface AgentsOptions extends GlobalOptions {
  readonly capability?: string;
  readonly tag?: string;
  readonly tier?: string;
  readonly status?: string;
  readonly modality?: string;
}

export interface AddOptions extends GlobalOptions {
  readonly as?: string;
}

export interface CallCommandOptions extends GlobalOptions {
  readonly stream?: true;
  readonly arg: Record<string, unknown>;
  readonly args?: Record<string, unknown>;
  readonly context?: Record<string, unknown>;
  readonly timeout?: number;
  readonly deadline?: number;
  readonly format?: string;
}

export function addFabricCommands(program: Command, terminal: Terminal): void {
  const agents = program
    .command('agents')
    .description('list agents with their capabilities and health');
  agents
    .command('list', { isDefault: true })
    .description('list agents')
    .option('--capability <name>', 'only agents that offer it')
    .option('--tag <tag>', 'only agents with this tag')
    .option('--tier <tier>', 'only agents of this trust tier')
    .option('--status <status>', 'only agents in this state')
    .option('--modality <modality>', 'only agents that handle it')
    .action(async (_, command: Command) => {
      const { listAgents } = await import('./fabric-run.ts');
      await listAgents(terminal, command.optsWithGlobals<AgentsOptions>());
    });
  agents
    .command('describe')
    .description("show one agent's manifest, schemas and health")
    .argument('<agent>')
    .action(async (agent: string, _, command: Command) => {
      const { describeAgent } = await import('./fabric-run.ts');
      await describeAgent(terminal, agent, command.optsWithGlobals<GlobalOptions>());
    });
  agents
    .command('add')
    .description('put an agent of your own behind the gateway')
    .argument('<agent>', 'its agent.json, or the folder of it')
    .option('--as <id>', 'what it is called there; by default its name')
    .action(async (agent: string, _, command: Command) => {
      const { addAgent } = await import('./agents-add.ts');
      await addAgent(terminal, agent, command.optsWithGlobals<AddOptions>());
    });

  program
    .command('call')
    .description('give a task to an agent')
    .argument('<target>', 'agent, agent.capability, or a capability alone')
    .argument('[words...]', 'capability (after an agent), then the task')
    .option('--stream', 'show events as they happen; with --json one per line')
    .option('--arg <key=value>', 'one argument of the capability; repeatable', toArgument, {})
    .option('--args <json>', 'all arguments of the capability as JSON', toObject)
    .option('--context <json>', 'anything the agent should know, as JSON', toObject)
    .option('--timeout <ms>', 'bounds each attempt', toMilliseconds)
    .option('--deadline <ms>', 'bounds the whole call', toMilliseconds)
    .option('--format <format>', 'text, json or toolcalls')
    .addHelpText(
      'after',
      '\nExamples:\n  starloom call percy reason "Is this sound?" --stream' +
        '\n  starloom call coder.code --arg path=README.md --json',
    )
    .action(async (target: string, words: string[], _, command: Command) => {
      const { callAgent } = await import('./call-run.ts');
      await callAgent(terminal, [target, ...words], command.optsWithGlobals<CallCommandOptions>());
    });

  program
    .command('route')
    .description('show who would serve a call and why; nothing is executed')
    .argument('<target>', 'agent, agent.capability, or a capability alone')
    .argument('[capability]')
    .action(async (target: string, capability: string | undefined, _, command: Command) => {
      const { previewRoute } = await import('./fabric-run.ts');
      const words = capability === undefined ? [target] : [target, capability];
      await previewRoute(terminal, words, command.optsWithGlobals<GlobalOptions>());
    });

  program
    .command('health')
    .description('show the health of the gateway, the registry and every agent')
    .action(async (_, command: Command) => {
      const { showHealth } = await import('./fabric-run.ts');
      await showHealth(terminal, command.optsWithGlobals<GlobalOptions>());
    });
}

function toArgument(text: string, before: Record<string, unknown>): Record<string, unknown> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected key=value.');
  const value = text.slice(at + 1);
  return { ...before, [text.slice(0, at)]: parseScalar(value) };
}

function parseScalar(text: string): unknown {
  return /^(?:true|false|null|-?\d+(?:\.\d+)?|[[{].*)$/.test(text) ? parseOr(text) : text;
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function toObject(text: string): Record<string, unknown> {
  const value = parseOr(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new InvalidArgumentError('expected a JSON object.');
}

function toMilliseconds(text: string): number {
  const ms = Number(text);
  if (Number.isInteger(ms) && ms > 0) return ms;
  throw new InvalidArgumentError('expected milliseconds, a whole number above 0.');
}
