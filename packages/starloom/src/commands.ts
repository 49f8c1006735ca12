// The table of commands. A new command is a file in `commands`, which exports `define`, and a row here:
// help, the loading of files, and the commands in messages follow from it.

import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

interface CommandFile {
  define(command: Command, terminal: Terminal): void;
}

/** What follows the name in help, what the command does, and its file, loaded when the name is typed. */
type Row = readonly [takes: string, does: string, load: () => Promise<CommandFile>];

export const COMMANDS: Readonly<Record<string, Row>> = {
  up: [
    '[options]',
    'run the gateway; with no configuration it runs sample agents',
    () => import('./commands/up.ts'),
  ],
  agents: [
    '',
    'list agents with their capabilities and health',
    () => import('./commands/agents.ts'),
  ],
  call: [
    '[options] <target> [words...]',
    'give a task to an agent',
    () => import('./commands/call.ts'),
  ],
  route: [
    '<target> [capability]',
    'show which agents would serve a call, and why',
    () => import('./commands/route.ts'),
  ],
  health: [
    '',
    'show the health of the gateway, the registry and every agent',
    () => import('./commands/health.ts'),
  ],
  console: [
    '',
    'print a link to the console, the web page of the gateway',
    () => import('./commands/console.ts'),
  ],
  calls: ['[options]', 'list calls, or follow them', () => import('./commands/calls.ts')],
  trace: ['<id>', 'show how a call went, step by step', () => import('./commands/trace.ts')],
  top: ['[options]', 'watch rates, errors and durations', () => import('./commands/top.ts')],
  usage: [
    '[options]',
    'sum up calls by caller, agent, tool or day',
    () => import('./commands/usage.ts'),
  ],
  jobs: ['', 'list and steer your jobs', () => import('./commands/jobs.ts')],
  node: [
    '[options]',
    'serve the agents of this machine through gateways elsewhere',
    () => import('./commands/node.ts'),
  ],
  agent: ['', 'make, talk to and serve an agent', () => import('./commands/agent.ts')],
  rpc: [
    '[options]',
    'serve sessions, context and locks as JSON-RPC over pipes',
    () => import('./commands/rpc.ts'),
  ],
  keys: ['', 'create, list, rotate and revoke shared keys', () => import('./commands/keys.ts')],
  passport: [
    '',
    'create, show, verify and revoke passports',
    () => import('./commands/passport.ts'),
  ],
  policy: [
    '',
    'check, test and share the rules of the gateway',
    () => import('./commands/policy.ts'),
  ],
  audit: ['', 'verify and show the audit log', () => import('./commands/audit.ts')],
  doctor: ['', 'find what is wrong, and the fix', () => import('./commands/doctor.ts')],
  connect: [
    '[options] <client>',
    'put the gateway into the configuration of an MCP client',
    () => import('./commands/connect.ts'),
  ],
  init: ['[folder]', 'write files to begin with', () => import('./commands/init.ts')],
  completion: [
    '<shell>',
    'print the completion of a shell',
    () => import('./commands/completion.ts'),
  ],
  erase: [
    '[options] <principal>',
    'remove what is kept of a caller',
    () => import('./commands/erase.ts'),
  ],
  config: ['', 'check, show and describe configuration', () => import('./commands/config.ts')],
};

const NAMES = Object.keys(COMMANDS).join('|');

/** A command at the beginning of a line or of a quotation. */
const COMMAND = new RegExp(`(^ *|[\`"])starloom(?= (?:(?:${NAMES})\\b|-))`, 'gm');

/** The text with the commands in it as they are typed here: with npx where npm started the program. */
export function asTyped(text: string, env: Terminal['env']): string {
  return env.npm_command === undefined ? text : text.replace(COMMAND, '$1npx starloom');
}
