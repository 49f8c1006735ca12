// A helper in a process of its own: its loop and its model run there, its tools here, on the agent's path. The
// process gets the key of its own model and no other, and ends with its task, its caller or this process.
//
// One JSON value per line. To the process: its task, then the results of its calls. From it: steps that it
// begins, what they cost, calls, and at the end its answer or an error.

import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childTrace, FabricError, fromErrorPayload } from '@starloom/core';
import type { ITool, ResponseMetadata, Usage } from '@starloom/sdk';
import {
  childEnvironment,
  type DeadlineSignal,
  deadlineSignal,
  readNdjson,
  spawnProcess,
  toUpstream,
  writeNdjson,
} from '@starloom/wire';
import type { HelperEntry, ProviderConfig } from '../config/agent-file.ts';
import { TurnBudget } from '../core/budgets.ts';
import type { LoopParts, Turn, TurnOutcome } from '../core/loop.ts';
import type { ToolOutcome, ToolRequest } from '../core/seams.ts';
import { findKey } from '../providers/ai-sdk/load-model.ts';
import { failure } from '../reasons.ts';

export interface ProcessWork {
  readonly helper: HelperEntry;
  readonly turn: Turn;
  readonly parts: LoopParts;
}

interface ProcessHost {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of helpers that have none of their own. */
  readonly provider: ProviderConfig;
}

export interface ProcessTask extends Pick<Turn, 'request' | 'trace' | 'hop'> {
  readonly folder: string;
  readonly provider: object;
  readonly key?: string | undefined;
  readonly limits: LoopParts['limits'];
  readonly system: LoopParts['system'];
  readonly tools: readonly Omit<ITool, 'execute'>[];
}

export type FromProcess =
  | { readonly step: number }
  | { readonly spent: { readonly metadata: ResponseMetadata; readonly estimate: Usage } }
  | { readonly ref: number; readonly call: ToolRequest['call'] }
  | { readonly done: TurnOutcome }
  | { readonly ok: false; readonly error: object };

export interface AnsweredCall extends Pick<ToolOutcome, 'result' | 'block'> {
  readonly ref: number;
}

const MAX_LINE_BYTES = 33_554_432;
const MAX_SECONDS = 86_400;
const GRACE_MS = 2_000;

export async function runInProcess(work: ProcessWork, host: ProcessHost): Promise<TurnOutcome> {
  const { helper, parts } = work;
  const { limits, clock } = parts;
  using time = deadlineSignal({
    ms: limits.seconds * 1000,
    parent: work.turn.signal,
    reason: () => new TurnBudget(limits, work.turn.emit).timeUp(),
    clock,
  });
  const { signal } = time;
  const ending = extname(import.meta.url);
  const file = fileURLToPath(new URL(`./helper-main${ending}`, import.meta.url));
  const conditions = ending === '.ts' ? ['--conditions=@starloom/source'] : [];
  await using child = await spawnProcess({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', ...conditions, file],
    cwd: host.folder,
    env: childEnvironment(),
    graceMs: GRACE_MS,
  });
  const stop = () => void child.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    await writeNdjson(child.stdin, toTask(work, host));
    const answer = (answered: AnsweredCall) => writeNdjson(child.stdin, answered);
    const take = createTaker({ ...work.turn, signal, time }, parts, answer);
    for await (const line of readNdjson(child.stdout, { maxLineBytes: MAX_LINE_BYTES })) {
      const message = line as FromProcess;
      if ('done' in message) return message.done;
      if ('ok' in message)
        throw fromErrorPayload(message) ?? failure('helper_failed', { to: helper.name });
      take(message);
    }
    signal.throwIfAborted();
    const exit = await child.exited;
    const upstream = toUpstream(exit, child.stderrTail());
    throw failure('helper_failed', { to: helper.name, upstream });
  } catch (error) {
    throw signal.aborted ? FabricError.from(signal.reason) : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function toTask({ helper, turn, parts }: ProcessWork, host: ProcessHost): ProcessTask {
  const config = helper.provider ?? host.provider;
  if (config.kind === 'plugin') throw failure('helper_provider', { to: helper.name });
  const { api_key, ...provider } = { api_key: undefined, ...config };
  const key = config.kind === 'ai-sdk' ? findKey(config, host.env) : api_key?.reveal();
  const { request, trace, hop } = turn;
  const { system, registry } = parts;
  // The time is kept here: it stops while a person is asked.
  const limits = { ...parts.limits, seconds: MAX_SECONDS };
  const tools = [...registry.tools.values()]
    .filter(({ name }) => turn.allowed?.has(name))
    .map(({ execute: _, ...tool }) => tool);
  return { request, trace, hop, folder: host.folder, provider, key, limits, system, tools };
}

/**
 * Takes what the process says, and runs its calls. Its context is kept here: what the process says of it does not
 * count. Throws when the budget of the caller is used up.
 */
function createTaker(
  turn: Turn & { readonly time: DeadlineSignal },
  { system, labeller, toolPath }: LoopParts,
  answer: (answer: AnsweredCall) => Promise<void>,
): (message: FromProcess) => void {
  const { budget, emit, session, trace, hop, mandate, signal, allowed, time } = turn;
  let blocks: ToolRequest['blocks'] = [...(system ? [system] : []), turn.request];

  const run = async (call: ToolRequest['call'], ref: number): Promise<void> => {
    const said = { segments: [{ type: 'tool_call' as const, toolCall: call }] };
    blocks = [...blocks, labeller.ofModel(said, blocks)];
    const request = {
      ...{ call, trace: childTrace(trace), hop, mandate, signal, allowed, blocks },
      origin: 'model' as const,
      sessionId: session.id,
      pause: () => time.pause(),
    };
    const { result, block } = await toolPath.call(request, emit);
    blocks = [...blocks, block];
    // A process that has ended needs no answer.
    await answer({ ref, result, block }).catch(() => {});
  };
  return (message) => {
    if ('step' in message) {
      budget?.openStep();
      emit('EXEC:STEP', { step: message.step });
    } else if ('spent' in message) {
      budget?.spend(message.spent.metadata, message.spent.estimate);
    } else if ('call' in message) {
      void run(message.call, message.ref);
    }
  };
}
