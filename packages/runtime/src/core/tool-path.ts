// The one path of every tool call, from any caller:
// resolve → validate → permission → trust check → execute with timeout → label → record.
// It never throws: what goes wrong is an outcome the caller can show to a model.

import { type Clock, FabricError, type Log, orAborted } from '@starloom/core';
import type { Block, ITool, ToolResult } from '@starloom/sdk';
import { deadlineSignal } from '@starloom/wire';
import type { Emit } from './event-bus.ts';
import type { Permission } from './permission.ts';
import {
  type AlwaysRule,
  type Approve,
  type AskCaller,
  CALL,
  type CoreContext,
  type CoreTool,
  FOR_CALL,
  type Labeller,
  type ToolOutcome,
  type ToolRequest,
  type Verdict,
  type Verifier,
} from './seams.ts';
import { type Arguments, parseArguments } from './tool-arguments.ts';
import { forContext, toFailure, toSegments } from './tool-output.ts';
import type { ToolRegistry } from './tool-registry.ts';

const NO_PERSON = 'it needs approval, and no person can be asked here';
const DEFAULT_TIMEOUT_MS = 60_000;
/** Bounds a name in our messages: the model may have made it up. */
const MAX_SHOWN_NAME = 100;

interface ToolPathParts {
  readonly registry: ToolRegistry;
  readonly permission: Permission;
  readonly verifier: Verifier;
  readonly labeller: Labeller;
  /** Absent: no person can be asked, and a call that needs approval is denied. */
  readonly approve?: Approve | undefined;
  readonly askCaller?: AskCaller | undefined;
  /** A person approved every later call that the rule describes. */
  readonly onAlways?: ((rule: AlwaysRule) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class ToolPath {
  readonly #parts: ToolPathParts;

  constructor(parts: ToolPathParts) {
    this.#parts = parts;
  }

  async call(request: ToolRequest, emit: Emit): Promise<ToolOutcome> {
    const { clock } = this.#parts;
    const { call, origin, hop, trace: span } = request;
    const started = clock.monotonic();
    emit('EXEC:TOOL_CALL', { call, origin, hop });
    const outcome = await this.#run(request, emit);
    const ms = clock.monotonic() - started;
    const code = outcome.error && { code: outcome.error.code };
    emit('EXEC:TOOL_RESULT', { call, origin, result: outcome.result, ms, span, ...code });
    return outcome;
  }

  async #run(given: ToolRequest, emit: Emit): Promise<ToolOutcome> {
    const { registry, verifier } = this.#parts;
    const found: CoreTool | undefined = await resolve(registry, given);
    if (!found) return this.#observe(given, missingTool(given, registry));

    const args = attempt(() => parseArguments(found, given.call));
    if (FabricError.is(args)) return this.#observe(given, args);

    const tool = found[FOR_CALL]?.(args) ?? found;
    const request = { ...given, call: { ...given.call, args } };
    const verdict = await this.#judge(request, tool, emit);
    if (verdict.decision !== 'allow') {
      verifier.record(request, tool, verdict, 'denied');
      return this.#observe(request, toDenial(tool, verdict));
    }
    const outcome = await this.#execute(request, tool, args, emit);
    verifier.record(request, tool, verdict, outcome.error ? 'failed' : 'executed');
    return outcome;
  }

  /** Allows or denies the call, and asks a person where the verdict says so. */
  async #judge(request: ToolRequest, tool: ITool, emit: Emit): Promise<Verdict> {
    const { call, origin } = request;
    const permitted = this.#parts.permission(request, tool);
    const verified = permitted?.decision === 'deny' ? permitted : await this.#verify(request, tool);
    const verdict = permitted && verified.decision === 'allow' ? permitted : verified;
    emit('SAFETY:VERDICT', { call, origin, verdict });
    const final =
      verdict.decision === 'ask' ? await this.#ask(request, tool, verdict, emit) : verdict;
    if (final.decision === 'allow') return final;
    const { rule, reasons, fix = `run it where a person can approve ${tool.name}` } = final;
    emit('SAFETY:DENIED', { call, rule, reasons, fix });
    return { ...final, fix };
  }

  /** Denies the call when the check itself fails. */
  async #verify(request: ToolRequest, tool: ITool): Promise<Verdict> {
    try {
      return await orAborted(
        Promise.resolve(this.#parts.verifier.verify(request, tool)),
        request.signal,
      );
    } catch (error) {
      const { trace, signal } = request;
      const deny = (rule: string, reason: string): Verdict => {
        return { decision: 'deny', rule, reasons: [reason] };
      };
      if (signal.aborted) return deny('cancelled', 'it was cancelled');
      this.#parts.log.error({ ...trace, tool: tool.name, error: String(error) }, 'a check failed');
      return deny('check_failed', 'the safety check itself failed');
    }
  }

  async #ask(request: ToolRequest, tool: ITool, verdict: Verdict, emit: Emit): Promise<Verdict> {
    const { approve, onAlways, verifier, log } = this.#parts;
    const { call, signal } = request;
    const no = (reason: string): Verdict => {
      return { ...verdict, decision: 'deny', reasons: [...verdict.reasons, reason] };
    };
    if (!approve) return no(NO_PERSON);
    emit('SAFETY:APPROVAL', { call, verdict });
    try {
      using _ = request.pause?.();
      const approval = await orAborted(approve(request, tool, verdict), signal);
      if (!approval) return no(approval === undefined ? NO_PERSON : 'it was not approved');
      await verifier.approved?.(request, tool, verdict);
      if (approval === 'always' && verdict.always) await onAlways?.(verdict.always);
    } catch (error) {
      if (signal.aborted) return no('it was cancelled');
      log.warn({ ...request.trace, tool: tool.name, error: String(error) }, 'no approval came');
      return no('no approval came');
    }
    emit('SAFETY:APPROVED', { call });
    return { ...verdict, decision: 'allow', reasons: [...verdict.reasons, 'a person approved it'] };
  }

  async #execute(
    request: ToolRequest,
    tool: ITool,
    args: Arguments,
    emit: Emit,
  ): Promise<ToolOutcome> {
    const { call, sessionId, trace, hop, mandate } = request;
    using deadline = deadlineSignal({
      ms: tool.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      parent: request.signal,
      reason: () => tooSlow(tool),
    });
    const { signal } = deadline;
    const progress = (message: string, percent?: number) => {
      const far = percent !== undefined && { percent };
      if (!signal.aborted) emit('STREAM:PROGRESS', { call: call.id, message, ...far });
    };
    const question = this.#parts.askCaller?.(request);
    const ask = async (words: string) => {
      using _ = request.pause?.();
      using __ = deadline.pause();
      return await orAborted(question?.(words) ?? Promise.resolve(undefined), signal);
    };
    try {
      signal.throwIfAborted();
      const context: CoreContext = {
        ...{ signal, sessionId, trace, hop, mandate, progress },
        ...(question && { ask }),
        [CALL]: { request, emit },
      };
      const running = (async () => tool.execute(structuredClone(args) as never, context))();
      const output = toSegments(await orAborted(running, signal));
      return this.#label(request, tool, { id: call.id, name: tool.name, output });
    } catch (thrown) {
      const error = signal.aborted ? FabricError.from(signal.reason) : toFailure(tool.name, thrown);
      const output = toSegments(wordsFor(error));
      const result = { id: call.id, name: tool.name, output, isError: true };
      return { ...this.#label(request, tool, result), error };
    }
  }

  #label({ blocks }: ToolRequest, tool: ITool, result: ToolResult): ToolOutcome {
    return { result, block: this.#parts.labeller.ofTool(tool, forContext(result), blocks) };
  }

  /** No tool ran: the words are the core's own, and they answer the call. */
  #observe({ call }: ToolRequest, error: FabricError): ToolOutcome {
    const text = wordsFor(error);
    const output = toSegments(text);
    const result: ToolResult = { id: call.id, name: call.name, output, isError: true };
    const block: Block = {
      ...this.#parts.labeller.ofObservation(text),
      role: 'tool',
      segments: [{ type: 'tool_result', toolResult: result }],
    };
    return { result, block, error };
  }
}

/** A server that is still starting may bring it. */
async function resolve(registry: ToolRegistry, request: ToolRequest): Promise<ITool | undefined> {
  if (!isThere(request, request.call.name)) return undefined;
  const tool = registry.get(request.call.name);
  if (tool) return tool;
  await registry.ready(request.signal);
  return registry.get(request.call.name);
}

function isThere({ allowed }: ToolRequest, name: string): boolean {
  return allowed?.has(name) ?? true;
}

function attempt<T>(step: () => T): T | FabricError {
  try {
    return step();
  } catch (error) {
    return FabricError.from(error);
  }
}

function wordsFor({ message, details }: FabricError): string {
  const { problems, near, fix } = details;
  const lines = [
    message,
    ...(Array.isArray(problems) ? problems.slice(1).map((problem) => `Also: ${problem}`) : []),
    ...(Array.isArray(near) && near.length > 0 ? [`Did you mean: ${near.join(', ')}?`] : []),
    ...(typeof fix === 'string' ? [`Fix: ${fix}`] : []),
  ];
  return lines.join('\n');
}

function missingTool(request: ToolRequest, registry: ToolRegistry): FabricError {
  const { name } = request.call;
  const shown = name.slice(0, MAX_SHOWN_NAME);
  return new FabricError('CAPABILITY_NOT_FOUND', `There is no tool ${JSON.stringify(shown)}`, {
    details: {
      reason: 'no_such_tool',
      tool: shown,
      near: registry.near(name).filter((one) => isThere(request, one)),
      fix: 'call one of the tools you were given, by its exact name',
    },
  });
}

function toDenial({ name: tool }: ITool, { rule, reasons, fix }: Verdict): FabricError {
  return new FabricError('POLICY_DENIED', `${tool} was denied: ${reasons.join('; ')}`, {
    details: { reason: rule, tool, reasons, fix },
  });
}

function tooSlow({ name, timeoutMs = DEFAULT_TIMEOUT_MS }: ITool): FabricError {
  return new FabricError('TIMEOUT', `${name} did not finish within ${timeoutMs} ms`, {
    details: { reason: 'tool_timeout', tool: name, timeout_ms: timeoutMs, fix: 'ask it for less' },
  });
}
