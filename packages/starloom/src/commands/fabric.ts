// The commands that call agents, and show how calls go.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TypedInputs } from '../ask/to-answers.ts';
import type { GlobalOptions } from '../global-options.ts';
import type { Terminal } from '../terminal.ts';
import { examples } from './examples.ts';

export interface CallCommandOptions extends GlobalOptions {
  readonly stream?: true;
  readonly arg?: Record<string, unknown>;
  readonly args?: Record<string, unknown>;
  readonly context?: Record<string, unknown>;
  readonly timeout?: number;
  readonly deadline?: number;
  readonly format?: string;
  readonly async?: true;
  readonly key?: string;
  readonly conversation?: string;
  /** Answers by the id of their question. */
  readonly input?: TypedInputs;
  /** `false`: ask no person. */
  readonly person?: false;
  readonly attach?: readonly string[];
  readonly save?: string;
  readonly force?: true;
}

export function addFabricCommands(program: Command, terminal: Terminal): void {
  program
    .command('call')
    .description('give a task to an agent')
    .argument('<target>', 'agent, tool (percy.reason, percy_reason), or a capability alone')
    .argument('[words...]', 'capability (after an agent), then the task')
    .option('--stream', 'show events as they happen; with --json one per line')
    .option('--arg <key=value>', 'one argument of the capability; repeatable', toArgument)
    .option('--args <json>', 'all arguments of the capability as JSON', toObject)
    .option('--context <json>', 'anything the agent should know, as JSON', toObject)
    .option('--timeout <ms>', 'bounds each attempt', toMilliseconds)
    .option('--deadline <ms>', 'bounds the whole call', toMilliseconds)
    .option('--format <format>', 'text, json or toolcalls')
    .option('--async', 'start a job and print its id; see "starloom jobs"')
    .option('--key <key>', 'the same key is the same call for 24 hours')
    .option('--attach <file>', 'a file for the agent; repeatable', toList)
    .option('--save <folder>', 'write the files that the agent hands over')
    .option('--force', 'with --save: overwrite files')
    .option('--conversation <id>', 'go on with a conversation, or with a call that asked')
    .option('--input <id=answer>', 'answer a question, as JSON or text; repeatable', toInput)
    .addOption(noInput())
    .addHelpText(
      'before',
      examples(
        ['starloom call percy reason "Is this sound?" --stream', 'agent, capability, task'],
        ['starloom call coder.code --arg path=README.md', 'by the name of the tool'],
        ['starloom call files read_text_file --arg path=README.md --json', ''],
        ['starloom call scribe write "A letter" --attach notes.md --save letters', ''],
      ),
    )
    .action(async (target: string, words: string[], _, command: Command) => {
      const { callAgent } = await import('./call-run.ts');
      await callAgent(terminal, [target, ...words], command.optsWithGlobals<CallCommandOptions>());
    });

  program
    .command('route')
    .description('show which agents would serve a call, and why; nothing is executed')
    .addHelpText('before', examples(['starloom route percy reason', '']))
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
    .addHelpText('before', examples(['starloom health', ''], ['starloom health --json', '']))
    .action(async (_, command: Command) => {
      const { showHealth } = await import('./fabric-run.ts');
      await showHealth(terminal, command.optsWithGlobals<GlobalOptions>());
    });
}

/** Not the negation of --input: both may be given. */
function noInput(): Option {
  const option = new Option(
    '--no-input',
    'ask nothing: a question ends the call with exit code 11',
  );
  option.attributeName = () => 'person';
  return option;
}

function toList(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

function toInput(text: string, before: TypedInputs = {}): TypedInputs {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected <id of the question>=<answer>.');
  const id = text.slice(0, at);
  if (Object.hasOwn(before, id)) throw new InvalidArgumentError(`"${id}" is answered twice.`);
  return { ...before, [id]: text.slice(at + 1) };
}

function toArgument(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
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
