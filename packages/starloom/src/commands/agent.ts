// The commands of one agent of one's own; they need no gateway.

import { TRUST_TIERS } from '@starloom/core';
import { type Command, Option } from 'commander';
import { action, type GlobalOptions, toPort } from '../command-line.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';

export interface TurnCommandOptions extends GlobalOptions {
  readonly session?: string;
  readonly yes?: true;
}

export interface ExecOptions extends TurnCommandOptions {
  readonly agent?: string;
  readonly allowRefused?: true;
}

export interface RunOptions extends GlobalOptions {
  readonly mcp?: 'stdio' | 'http';
  readonly a2a?: true;
  readonly acp?: true;
  readonly port?: number;
  readonly host?: string;
  readonly key?: string;
  readonly anonymous?: true;
  readonly register?: string;
  readonly advertise?: string;
  readonly node?: string;
  readonly tier?: (typeof TRUST_TIERS)[number];
}

export interface InitOptions extends GlobalOptions {
  readonly name?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly package?: string;
  readonly apiKey?: string;
  readonly yes?: true;
  readonly force?: true;
}

const HTTP_OPTIONS = ['port', 'host', 'key', 'anonymous'] as const;
const REGISTER_OPTIONS = ['advertise', 'node', 'tier'] as const;
const MODEL_OPTIONS = [
  ['--base-url', 'baseUrl'],
  ['--package', 'package'],
  ['--api-key', 'apiKey'],
] as const;
const FILE = 'an agent.json, or its folder (else the one here)';
const SESSION = 'go on with this session, or begin it';
const YES = 'approve every tool call that asks for it';

export function define(agent: Command, terminal: Terminal): void {
  agent
    .command('init')
    .description('write agent.json and agent.toml; the agent runs at once')
    .argument('[folder]', 'where; made if it is not there')
    .option('--name <name>', 'what the agent is called')
    .option('--model <model>', 'the model; without one the agent follows a script')
    .option('--base-url <url>', 'of an OpenAI-compatible server; default: Ollama on this machine')
    .option('--package <name>', 'the AI SDK package of the model, such as @ai-sdk/anthropic')
    .option('--api-key <reference>', 'env:NAME or file:PATH of the key of the model')
    .option('-y, --yes', 'ask nothing, take the defaults')
    .option('--force', 'overwrite what is there')
    .action(async (folder: string | undefined, _, command: Command) => {
      const options = command.optsWithGlobals<InitOptions>();
      const misplaced = MODEL_OPTIONS.find(([, key]) => options[key] !== undefined);
      if (options.model === undefined && misplaced) {
        throw toUsageError(`${misplaced[0]} goes with --model`);
      }
      const { initAgent } = await import('./agent-init.ts');
      await initAgent(terminal, folder ?? '.', options);
    });

  agent
    .command('chat')
    .description('talk to an agent; with piped input each line is a turn')
    .argument('[agent]', FILE)
    .option('--session <id>', SESSION)
    .option('-y, --yes', YES)
    .action(action(terminal, async () => (await import('./agent-chat.ts')).chat));

  agent
    .command('exec')
    .description('run one turn: a prompt, or a /command')
    .argument('<prompt...>', 'what to say; "/help" lists commands')
    .option('--agent <file>', FILE)
    .option('--session <id>', SESSION)
    .option('-y, --yes', YES)
    .option('--allow-refused', 'exit with 0 although a tool call was refused')
    .action(action(terminal, async () => (await import('./agent-chat.ts')).execTurn));

  agent
    .command('run')
    .description('serve an agent to others')
    .argument('[agent]', FILE)
    .addOption(new Option('--mcp <transport>', 'as an MCP server').choices(['stdio', 'http']))
    .addOption(new Option('--a2a', 'to other agents (A2A), over HTTP').conflicts('mcp'))
    .addOption(
      new Option('--acp', 'to an editor (Agent Client Protocol)').conflicts(['mcp', 'a2a']),
    )
    .option('-p, --port <port>', 'port of HTTP; 0 picks a free one', toPort)
    .option('--host <host>', 'where to listen; 127.0.0.1 by default, for this machine')
    .option('--key <reference>', 'env:NAME or file:PATH; else one is drawn and kept')
    .option('--anonymous', 'let callers of this machine in without the key')
    .option('--register <gateway>', 'over HTTP, and register it at this gateway while it runs')
    .option('--advertise <url>', 'with --register: where the gateway reaches it')
    .option('--node <id>', 'with --register: the node it runs on; the host name by default')
    .addOption(
      new Option('--tier <tier>', 'with --register: how far it is trusted').choices([
        ...TRUST_TIERS,
      ]),
    )
    .action(async (path: string | undefined, _, command: Command) => {
      const given = command.optsWithGlobals<RunOptions>();
      const { register } = given;
      const { a2a, acp } = given;
      const mcp = given.mcp ?? (register !== undefined && !a2a ? 'http' : undefined);
      const options = { ...given, ...(mcp && { mcp }) };
      if (register !== undefined && mcp !== 'http') throw toUsageError('--register goes with HTTP');
      const unregistered = REGISTER_OPTIONS.find((name) => options[name] !== undefined);
      if (register === undefined && unregistered) {
        throw toUsageError(`--${unregistered} goes with --register`);
      }
      if (!mcp && !a2a && !acp) throw toUsageError('say --mcp stdio, --mcp http, --a2a or --acp');
      const misplaced = HTTP_OPTIONS.find((name) => options[name] !== undefined);
      if (mcp !== 'http' && !a2a && misplaced) {
        throw toUsageError(`--${misplaced} goes with --mcp http or --a2a`);
      }
      const { runAgent, runForAgents, runForEditor } = await import('./agent-run.ts');
      if (a2a) return await runForAgents(terminal, path, options);
      if (acp) return await runForEditor(terminal, path, options);
      await runAgent(terminal, path, { ...options, mcp: mcp ?? 'stdio' });
    });
}
