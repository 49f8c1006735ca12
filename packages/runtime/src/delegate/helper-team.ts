// The helpers of an agent. A task of a helper is a turn of its own: its own session, model and limits. Its
// tools are those of the agent, on the agent's one tool path, judged in the context of the caller followed by its
// own: it can do what the user asked for, and nothing that its caller could not do.

import { matchesGlob, type Trace } from '@starloom/core';
import type { Block, ContentSegment, IProvider } from '@starloom/sdk';
import type { HelperEntry } from '../config/agent-file.ts';
import { type Budget, withinBudget } from '../core/budgets.ts';
import type { AgentEventName, Emit } from '../core/event-bus.ts';
import { type LoopParts, runTurn, type TurnOutcome } from '../core/loop.ts';
import type { ToolOutcome, ToolRequest } from '../core/seams.ts';
import { AgentSession } from '../core/session.ts';
import { failure } from '../reasons.ts';
import type { ProcessWork } from './helper-process.ts';

export interface HelperWork {
  readonly helper: HelperEntry;
  readonly task: string;
  readonly tools: ReadonlySet<string>;
  /** The call of `agent:delegate`. */
  readonly request: ToolRequest;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly trace: Omit<Trace, 'parent_span_id'>;
  readonly hop: ToolRequest['hop'];
  readonly budget: Budget;
}

interface HelperTeamOptions {
  /** Of the agent; known when it is put together. */
  readonly parts: () => LoopParts;
  readonly agentName: string;
  /** Of helpers that have one. */
  readonly providers: ReadonlyMap<string, IProvider>;
  readonly runInProcess: (work: ProcessWork) => Promise<TurnOutcome>;
}

type ToolCalls = LoopParts['toolPath'];

/** What of a helper's turn is shown as part of its caller's: acts and decisions, not words. */
const SHOWN: ReadonlySet<AgentEventName> = new Set<AgentEventName>([
  'EXEC:TOOL_CALL',
  'EXEC:TOOL_RESULT',
  'EXEC:DELEGATED',
  'EXEC:RETURNED',
  'STREAM:PROGRESS',
  'SAFETY:VERDICT',
  'SAFETY:APPROVAL',
  'SAFETY:APPROVED',
  'SAFETY:DENIED',
  'SAFETY:WARNING',
  'SAFETY:BUDGET',
  'SAFETY:HALT',
]);

export class HelperTeam {
  readonly #options: HelperTeamOptions;

  constructor(options: HelperTeamOptions) {
    this.#options = options;
  }

  /** Of the agent's tools: those of the helper that its caller has, too. POLICY_DENIED for others that are asked for. */
  toolsOf(
    { name, tools }: HelperEntry,
    above: ReadonlySet<string> | undefined,
    asked: readonly string[] | undefined,
  ): ReadonlySet<string> {
    const all = [...this.#options.parts().registry.tools.keys()];
    const own = all.filter(
      (tool) => (above?.has(tool) ?? true) && tools.some((glob) => matchesGlob(glob, tool)),
    );
    const missing = asked?.filter((tool) => !own.includes(tool)) ?? [];
    if (missing.length > 0) {
      throw failure('helper_tools', { to: name, tools: missing.join(', '), has: own.join(', ') });
    }
    return new Set(asked ?? own);
  }

  async run(work: HelperWork): Promise<TurnOutcome> {
    const { helper, request: outer } = work;
    const parts = this.#options.parts();
    const left = outer.budget?.left ?? parts.limits;
    const limits = withinBudget(left, helper.limits, work.budget);
    const turn = {
      session: new AgentSession(crypto.randomUUID()),
      request: this.#taskBlock(work),
      trace: { ...work.trace, parent_span_id: null },
      hop: work.hop,
      mandate: outer.mandate,
      signal: work.signal,
      emit: this.#emitFor(work),
      budget: outer.budget,
      allowed: work.tools,
    };
    const inner: LoopParts = {
      ...parts,
      limits,
      toolPath: this.#narrowToolPath(work, parts.toolPath),
      provider: this.#options.providers.get(helper.name) ?? parts.provider,
      system: parts.labeller.ofSystem(this.#systemOf(helper)),
    };
    if (!helper.process) return await runTurn(turn, inner);
    return await this.#options.runInProcess({ helper, turn, parts: inner });
  }

  #systemOf({ name, description, system_prompt }: HelperEntry): string {
    const role = `You are ${name}, a helper of ${this.#options.agentName}: ${description} Do the task that you are given and answer with its result alone. No one can answer questions.`;
    return system_prompt === undefined ? role : `${system_prompt}\n\n${role}`;
  }

  /** The words of a model are worth no more than what it had read; those of another agent, nothing. */
  #taskBlock({ task, request }: HelperWork): Block {
    const { labeller } = this.#options.parts();
    const segments: ContentSegment[] = [{ type: 'text', text: task }];
    const isForeign =
      request.origin === 'remote' || request.blocks.some(({ trust }) => trust === 'untrusted');
    return isForeign
      ? labeller.ofRemote(segments, `agent:${this.#options.agentName}`)
      : labeller.ofUser(segments, 'vetted');
  }

  /** On the path of the agent, as part of the caller's turn: its session, plan and approvals. */
  #narrowToolPath({ request: outer }: HelperWork, path: ToolCalls): ToolCalls {
    const { sessionId, planning } = outer;
    return {
      async call(given, emit) {
        const { id } = given.call;
        const request = {
          ...given,
          call: { ...given.call, id: `${outer.call.id}.${id}` },
          sessionId,
          ...(planning && { planning }),
          pause: () => pauseBoth(given, outer),
          blocks: [...outer.blocks, ...given.blocks],
        };
        return withId(await path.call(request, emit), id);
      },
    };
  }

  #emitFor({ helper, request, emit }: HelperWork): Emit {
    return (type, data) => {
      if (SHOWN.has(type)) emit(type, data);
      if (type !== 'EXEC:STEP') return;
      const { step } = data as { step: number };
      emit('STREAM:PROGRESS', { call: request.call.id, message: `${helper.name}: step ${step}` });
    };
  }
}

function pauseBoth(...requests: readonly ToolRequest[]): Disposable {
  const pauses = requests.flatMap(({ pause }) => pause?.() ?? []);
  return {
    [Symbol.dispose]: () => {
      for (const one of pauses) one[Symbol.dispose]();
    },
  };
}

/** The model of the helper knows the call by this id. */
function withId({ result, block, ...outcome }: ToolOutcome, id: string): ToolOutcome {
  const segments = block.segments.map((segment) =>
    segment.toolResult ? { ...segment, toolResult: { ...segment.toolResult, id } } : segment,
  );
  return { ...outcome, result: { ...result, id }, block: { ...block, segments } };
}
