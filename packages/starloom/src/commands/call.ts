import { randomUUID } from 'node:crypto';
import { FabricError, type FabricEvent, type GivenInput, isObject } from '@starloom/core';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  askPerson,
  type OpenQuestion,
  type TypedInputs,
  toAnswers,
  toTypedInput,
} from '../ask/answers.ts';
import { action, type GlobalOptions, toList, toNumber, withExamples } from '../command-line.ts';
import { nameConversation, toConversationId } from '../conversation-names.ts';
import { contentArtifacts, openFolder, saveArtifacts } from '../files/artifacts.ts';
import { readAttachments } from '../files/attachments.ts';
import { connectToGateway } from '../gateway-client.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { paint, toSafeJson, toVisible } from '../terminal-text.ts';
import type { ToolPayloads } from '../tool-payloads.ts';
import {
  type Asked,
  askedIn,
  type Shorten,
  toAnswering,
  toRequest,
  withAnswerCommand,
} from './call-request.ts';
import { CallView, printJson, showAnswer } from './call-view.ts';
import { didYouMean, readTarget, type Target } from './target.ts';

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
  readonly input?: TypedInputs;
  readonly person?: false;
  readonly attach?: readonly string[];
  readonly save?: string;
  readonly force?: true;
}

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom call percy reason "Is this sound?" --stream', 'agent, capability, task'],
    ['starloom call coder.code --arg path=README.md', 'by the name of the tool'],
    ['starloom call files read_text_file --arg path=README.md --json', ''],
    ['starloom call scribe write "A letter" --attach notes.md --save letters', ''],
  ])
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
    .option('--input <id=answer>', 'answer a question, as JSON or text; repeatable', toTypedInput)
    .addOption(noInput())
    .action(action(terminal, () => callAgent));
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

/** What looks like JSON, but is no text in quotes. */
const SCALAR = /^(?:true|false|null|-?\d+(?:\.\d+)?|[[{].*)$/;

function toArgument(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected key=value.');
  const value = text.slice(at + 1);
  return { ...before, [text.slice(0, at)]: SCALAR.test(value) ? parseOr(value) : value };
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
  if (isObject(value)) return value;
  throw new InvalidArgumentError('expected a JSON object.');
}

const toMilliseconds = toNumber('milliseconds, a whole number above 0', { min: 1 });

/** How much longer than the call itself we wait for its answer. */
const GRACE_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 60_000;
/** How long an agent has to take notice that the person left. */
const LEAVE_MS = 3_000;

type Payload = ToolPayloads['fabric.call'];
type Request = Readonly<Record<string, unknown>>;
type Send = (request: Request, signal?: AbortSignal) => Promise<Payload>;

async function callAgent(
  terminal: Terminal,
  first: string,
  more: readonly string[],
  typed: CallCommandOptions,
): Promise<void> {
  const { conversation: before } = typed;
  const conversation = before && (await toConversationId(terminal, before));
  const options = { ...typed, ...(conversation && { conversation }) };
  if (options.input && !options.conversation) {
    throw toUsageError('--input answers a question: it needs --conversation <id>');
  }
  if (options.save && options.async) {
    throw toUsageError('--save waits for the answer: it does not go with --async');
  }
  const { cwd } = terminal;
  const attachments = await readAttachments(options.attach ?? [], cwd);
  const { save: folder, force = false } = options;
  const place = folder ? { folder, cwd, force } : undefined;
  if (place) await openFolder(place);
  await using client = await connectToGateway(terminal);
  using interrupted = onInterrupt();
  const target = await readTarget(client, [first, ...more]);
  const view = new CallView(terminal);
  const onEvent = (event: FabricEvent) => {
    if (options.json) terminal.json(event);
    else view.show(event);
  };
  const shorten: Shorten = (agentId, id) => nameConversation(terminal, agentId, id, before);
  const { deadline, timeout = DEFAULT_TIMEOUT_MS, stream } = options;
  const timeoutMs = (deadline ?? 3 * timeout) + GRACE_MS;
  const send: Send = (request, signal = interrupted.signal) =>
    client.call('fabric.call', request, { timeoutMs, signal, ...(stream && { onEvent }) });
  try {
    const first = toRequest(target, options, attachments);
    const answered = options.input
      ? { ...first, inputs: await toInputs(options.input, first, send) }
      : first;
    const payload = await converse(terminal, target, options, answered, { send, view, shorten });
    if (payload.job_id !== undefined) {
      terminal.print(options.json ? toSafeJson(payload) : payload.job_id);
      const { job_id, state } = payload;
      terminal.tell(`the job is ${state}; follow it with "starloom jobs watch ${job_id}"`);
      return;
    }
    const artifacts = payload.result.artifacts ?? contentArtifacts(payload.result.content);
    const saved = place && (await saveArtifacts(artifacts, place));
    if (options.json) printJson(terminal, payload, saved, options);
    else await showAnswer(terminal, view, payload, { artifacts, saved }, { ...target, shorten });
  } catch (error) {
    view.settle();
    if (interrupted.signal.aborted) throw error;
    const { agentId, capability } = target;
    const named = agentId === undefined ? [capability] : [agentId, capability];
    throw withArgumentsFix(await didYouMean(error, client, named), agentId);
  }
}

/** Calls, and asks the person whatever the agent asks, until there is an answer. */
async function converse(
  terminal: Terminal,
  target: Target,
  options: CallCommandOptions,
  first: Request,
  { send, view, shorten }: { send: Send; view: CallView; shorten: Shorten },
): Promise<Payload> {
  const isAsked = terminal.canAsk && !options.json && options.person !== false;
  let request = first;
  let asked: Asked | undefined;
  for (;;) {
    try {
      return await send(request);
    } catch (error) {
      view.settle();
      const isUnfit = FabricError.is(error) && error.details.reason === 'answer_does_not_fit';
      if (isUnfit && asked) terminal.tell(`  ${paint('yellow', toVisible(error.message))}`);
      else asked = askedIn(error, target);
      if (!asked) throw error;
      if (!isAsked || asked.conversationId === undefined) {
        throw options.json ? error : await withAnswerCommand(error, asked, shorten);
      }
      request = toAnswering(asked, await answersOf(terminal, asked, options, send), options);
    }
  }
}

async function answersOf(
  terminal: Terminal,
  asked: Asked,
  options: CallCommandOptions,
  send: Send,
): Promise<readonly GivenInput[]> {
  try {
    return await askPerson(terminal, asked.agentId, asked.inputs);
  } catch (error) {
    // The agent still waits: it is answered before we leave.
    const response = { action: 'cancel' } as const;
    const inputs = asked.inputs.map(({ id }) => ({ id, response }));
    const signal = AbortSignal.timeout(LEAVE_MS);
    await send(toAnswering(asked, inputs, options), signal).catch(() => undefined);
    throw error;
  }
}

/**
 * What was typed as answers to what is open. The gateway says what is open when it gets an answer
 * to a question that it never asked; such a request changes nothing.
 */
async function toInputs(typed: TypedInputs, request: Request, send: Send): Promise<GivenInput[]> {
  const stray: GivenInput = { id: randomUUID(), response: { action: 'cancel' } };
  const { idempotency_key: _, ...probe } = request;
  const error = await send({ ...probe, inputs: [stray] }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!FabricError.is(error) || error.code !== 'BAD_INPUT') throw error;
  const { questions } = error.details;
  if (!Array.isArray(questions)) throw error;
  return toAnswers(typed, questions as OpenQuestion[]);
}

/** Arguments that do not fit: where a person sees which are wanted. */
function withArgumentsFix(error: unknown, agentId: string | undefined): unknown {
  if (!FabricError.is(error) || error.code !== 'BAD_INPUT' || agentId === undefined) return error;
  const fix = `give them with --arg name=value; "starloom agents describe ${agentId}" shows them`;
  const isUnfit = /arguments/i.test(error.message) && error.details.fix === undefined;
  return isUnfit ? error.with({ fix }) : error;
}

/** The first Ctrl-C cancels the call at the agent, the second ends this process at once. */
function onInterrupt(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', onSignal),
  };
}
