// `plan = "first_step"`: before anything foreign is read in a turn, the model states which tools it will
// use and where each target will come from. Later calls are held to it. A plan only narrows: what the
// decision table asks about is asked about, planned or not.

import { defineTool, type ITool } from '@starloom/sdk';
import { z } from 'zod';
import type { Verdict } from '../core/seams.ts';
import type { CallFacts } from './decide.ts';
import { effectOf } from './effect.ts';
import { show } from './hidden-text.ts';
import type { Target } from './targets.ts';

export const PLAN_TOOL = 'plan:state';

const planSchema = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        tool: z.string().describe('Exact name of a tool that will be called'),
        targets: z
          .record(z.string(), z.string())
          .default({})
          .describe(
            'For each argument that says where it goes: "user", or the tool whose result holds it',
          ),
      }),
    )
    .max(100),
});

type Plan = z.output<typeof planSchema>;

const MOST_PLANS = 256;

export class Plans {
  readonly #isOn: boolean;
  readonly #plans = new Map<string, Plan>();

  constructor(setting: 'off' | 'first_step') {
    this.#isOn = setting === 'first_step';
  }

  /** The tool by which the model states its plan; none where plans are off. */
  get tools(): ITool[] {
    if (!this.#isOn) return [];
    return [
      defineTool({
        name: PLAN_TOOL,
        description:
          'States which tools you will use for the request and where their targets come from. Call it first, once.',
        effect: 'read',
        untrusted: false,
        parameters: planSchema,
        execute: (plan, { sessionId, trace }) =>
          this.#state(`${sessionId} ${trace.trace_id}`, plan),
      }),
    ];
  }

  /** Why the plan of the turn does not hold the call; `undefined` when it does. */
  check({ request, tool, grounds, parts }: CallFacts): Verdict | undefined {
    const { origin, sessionId, trace, blocks, call } = request;
    if (!this.#isOn || origin !== 'model') return undefined;
    const plan = this.#plans.get(`${sessionId} ${trace.trace_id}`);
    if (tool.name === PLAN_TOOL) {
      const turn = blocks.slice(blocks.findLastIndex(({ role }) => role === 'user') + 1);
      const isLate = plan !== undefined || turn.some(({ trust }) => trust === 'untrusted');
      return isLate ? off('the plan is stated once, before anything is read') : undefined;
    }
    if (!plan) return off(`no plan was stated: call ${PLAN_TOOL} first`);
    const steps = plan.steps.filter((step) => step.tool === tool.name);
    if (steps.length === 0) return off(`${tool.name} is not in the plan of this turn`);
    if (effectOf(tool, call.args) === 'read') return undefined;
    const loose = parts.targets.find((one) =>
      steps.every(({ targets }) => !comesFrom(targets[rootOf(one)], one, { request, grounds })),
    );
    if (!loose) return undefined;
    return off(`"${show(loose.value)}" does not come from where the plan says`);
  }

  #state(turn: string, plan: Plan): string {
    if (this.#plans.size >= MOST_PLANS) this.#plans.clear();
    this.#plans.set(turn, plan);
    return 'The plan is noted.';
  }
}

/** A source that the plan leaves out is the user. */
function comesFrom(
  source: string | undefined,
  target: Target,
  { request, grounds }: Pick<CallFacts, 'request' | 'grounds'>,
): boolean {
  if (source === undefined || source === 'user') return grounds.isGrounded(target);
  return request.blocks.some(({ segments }) =>
    segments.some(
      ({ toolResult }) =>
        toolResult?.name === source &&
        toolResult.output.some(({ text = '' }) => text.includes(target.value)),
    ),
  );
}

function rootOf({ argument }: Target): string {
  return argument.split('.')[0] ?? argument;
}

function off(reason: string): Verdict {
  const fix = 'state a plan that holds the call, or ask the user for it';
  return { decision: 'ask', rule: 'not_planned', reasons: [reason], fix };
}
