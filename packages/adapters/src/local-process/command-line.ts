// One call of a command line that is known by name: a process of its own, the prompt on its standard
// input, its lines of JSON as events. The prompt is never an argument: it could be read as an option,
// and long ones do not fit.

import {
  assertWanted,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  formatChain,
  toFields,
  toTraceparent,
  tryParseJson,
} from '@starloom/core';
import { assertJsonLimits, type Excerpt, type ManagedProcess, toUpstream } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { throwUnsent } from '../upstream/call.ts';
import type { ProcessPool } from '../upstream/process-pool.ts';
import { startProgram } from '../upstream/program.ts';
import { toPrompt } from '../upstream/prompt-text.ts';
import type { Program } from './agent-process.ts';
import { type CommandLineReader, PRESETS, type PresetName } from './presets.ts';
import { isSessionId } from './readers.ts';

interface CommandLineOptions {
  readonly preset: PresetName;
  readonly envelope: Envelope;
  readonly context: CallContext;
  readonly program: Program;
  readonly excerpt: Excerpt;
  /** Ends the process when the adapter is closed. */
  readonly pool: Pick<ProcessPool<never>, 'closing' | 'hold'>;
}

export async function* runCommandLine(options: CommandLineOptions): AsyncGenerator<EventBody> {
  const { context, pool, preset, envelope, excerpt } = options;
  const prompt = promptOf(envelope.input);
  const child = await start(options).catch(throwUnsent);
  const release = pool.hold(child);
  const signal = AbortSignal.any([context.signal, pool.closing]);
  const stop = () => void child.stop();
  signal.addEventListener('abort', stop);
  try {
    assertWanted(signal);
    child.stdin.end(prompt);
    const reader = PRESETS[preset].createReader();
    for await (const line of child.lines()) {
      assertJsonLimits(line);
      const value = tryParseJson(line);
      if (value !== undefined) yield* reader.read(toFields(value));
      // Programs print warnings between their lines of JSON.
      else if (line !== '') context.log.debug({ line: excerpt(line) }, 'the agent wrote no JSON');
      if (reader.isDone) break;
    }
    assertWanted(signal);
    yield await finish(child, reader, options);
  } finally {
    signal.removeEventListener('abort', stop);
    void child.stop().then(release);
  }
}

async function start({ preset, envelope, context, program, excerpt, pool }: CommandLineOptions) {
  assertWanted(pool.closing);
  const args = PRESETS[preset].args(program.start.args ?? [], sessionOf(context));
  const env = { ...program.start.env, ...traceOf(envelope) };
  const once = { ...program, start: { ...program.start, args, env } };
  return startProgram(once, excerpt, context.log);
}

async function finish(
  child: ManagedProcess,
  reader: CommandLineReader,
  { context, excerpt }: CommandLineOptions,
): Promise<EventBody> {
  const exit = reader.isDone ? undefined : await child.stop();
  const { failure: failed } = reader;
  const upstream = exit && toUpstream(exit, excerpt(child.stderrTail(), 'tail'));
  if (failed) {
    throw new FabricError(failed.code, failed.message, {
      details: {
        reason: failed.reason,
        upstream: { ...upstream, ...(failed.text && { message: excerpt(failed.text) }) },
        fix: 'see details.upstream',
      },
    });
  }
  if (exit && (exit.code !== 0 || !reader.hasAnswer)) {
    throw failure('no_final', { upstream, fix: 'see what it wrote to stderr' });
  }
  if (reader.sessionId !== undefined) context.keep?.({ session_id: reader.sessionId });
  return { type: 'final', data: { answer: reader.answer } };
}

function promptOf(input: Envelope['input']): string {
  if (input.attachments.length > 0) throw failure('attachments_unsupported');
  const prompt = toPrompt(input);
  if (prompt !== '') return prompt;
  throw failure('empty_prompt');
}

function sessionOf({ handle }: CallContext): string | undefined {
  if (handle === undefined) return undefined;
  if (isSessionId(handle.session_id)) return handle.session_id;
  throw failure('unknown_conversation');
}

function traceOf({ trace, hop }: Envelope): Readonly<Record<string, string>> {
  return {
    TRACEPARENT: toTraceparent(trace),
    OPENSTARRY_TRACE_ID: trace.trace_id,
    OPENSTARRY_DEPTH: String(hop.depth),
    OPENSTARRY_CHAIN: formatChain(hop.chain),
  };
}
