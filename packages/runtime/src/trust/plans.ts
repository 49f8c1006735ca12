// The plan of a turn: which tools the model will use, and where each target will come from. The model makes
// it from the user's words and the list of tools alone, so no foreign text can write it. A target that
// comes from its planned source is grounded; an act outside the plan asks. Without a plan the table decides.

import { type Log, silentLog } from '@starloom/core';
import { defineTool, type ITool } from '@starloom/sdk';
import { z } from 'zod';
import type { PlannedStep, ToolRequest } from '../core/seams.ts';
import { sanitiseDescription } from '../tool-pins/descriptions.ts';
import type { CallFacts } from './decide.ts';
import { effectOf } from './effect.ts';
import type { Grounds } from './grounds.ts';
import { show } from './hidden-text.ts';
import type { Target } from './targets.ts';
import { isForeign } from './tool-name.ts';

export const PLAN_TOOL = 'plan:state';

const sourceSchema = z.strictObject({
  from: z
    .enum(['user', 'operator', 'result', 'person', 'choice'])
    .describe(
      'user: the words of the user; operator: the settings; result: a value in the result of a step; person: whom the user described; choice: an item that the user described, out of a list',
    ),
  of: z.int().min(0).optional().describe('Index of the earlier step whose result holds it'),
  field: z.string().optional().describe('Field of that result'),
  like: z.string().optional().describe('What the user said of it, in their words'),
});

export const plannedSteps = z
  .array(
    z.strictObject({
      tool: z.string().describe('Exact name of a tool'),
      why: z.string().max(200).optional(),
      targets: z
        .record(z.string(), sourceSchema)
        .default({})
        .describe('By argument that says where the call goes, or whose text holds links'),
    }),
  )
  .min(1)
  .max(100);
const planSchema = z.strictObject({ steps: plannedSteps });

const planTool = defineTool({
  name: PLAN_TOOL,
  description:
    'States which tools you will use for the request and where their targets come from. Call it before you read anything.',
  effect: 'read',
  untrusted: false,
  parameters: planSchema,
  execute: () => 'The plan is noted.',
});

const QUESTION = `State your plan for the last request with ${PLAN_TOOL}, and nothing else. Name every tool that you may need, in order: what reads, and what acts. For each argument that says where an act goes (recipient, address, file, id, amount, link), say where its value will come from. Calls outside the plan have to be approved by a person.`;
const MAX_PLANS = 256;
const MAX_TOOLS = 200;

export interface PlansOptions {
  readonly isOn: boolean;
  readonly tools: () => Iterable<ITool>;
  /** The model may not see what this says of its tools while it plans. */
  readonly isVetted: (tool: ITool) => boolean;
  readonly record: (request: ToolRequest, steps: readonly PlannedStep[]) => void;
  readonly log?: Log | undefined;
}

export class Plans {
  readonly #options: PlansOptions;
  /** By turn; `undefined` where the model has none. */
  readonly #plans = new Map<string, Promise<Plan | undefined>>();

  constructor(options: PlansOptions) {
    this.#options = options;
  }

  /** The tool by which the model states its plan, where something acts and something reads what others wrote. */
  toolsFor(tools: Iterable<ITool>): readonly ITool[] {
    const all = this.#options.isOn ? [...tools] : [];
    const isForeignRead = (tool: ITool) =>
      effectOf(tool) === 'read' && (tool.untrusted !== false || isForeign(tool));
    const isWanted = all.some(isForeignRead) && all.some((tool) => effectOf(tool) === 'act');
    return isWanted ? [planTool] : [];
  }

  /** Whether a plan was stated, or asked for, in the turn of this call. */
  has(request: ToolRequest): boolean {
    return this.#plans.has(turnOf(request));
  }

  /** The plan of the turn. Who has stated none is asked for it, once, and sees nothing foreign. */
  of(request: ToolRequest, userWords: readonly string[]): Promise<Plan | undefined> {
    const known = this.#plans.get(turnOf(request));
    if (known) return known;
    const asked = this.#ask(request, userWords).catch((error: unknown) => {
      const { log = silentLog } = this.#options;
      log.warn({ ...request.trace, error: String(error) }, 'the model could not plan');
      return undefined;
    });
    this.#keep(request, asked);
    return asked;
  }

  /** The steps as a plan, behind those of `before`; a text says why they cannot be one. */
  preview(given: unknown, before?: Plan): Plan | string {
    const parsed = planSchema.safeParse(given);
    if (!parsed.success) return z.prettifyError(parsed.error);
    const steps: PlannedStep[] = [...(before?.steps ?? []), ...parsed.data.steps];
    return this.#problemIn(steps) ?? new Plan(steps);
  }

  /** It is the plan of the turn from now on. */
  keep(request: ToolRequest, plan: Plan): void {
    this.#keep(request, Promise.resolve(plan));
    this.#options.record(request, plan.steps);
    request.planning?.show(plan.steps);
  }

  /** A person said yes to the steps of this call of `plan:state`. */
  async extendBy(request: ToolRequest): Promise<void> {
    const plan = this.preview(request.call.args, await this.#plans.get(turnOf(request)));
    if (typeof plan !== 'string') this.keep(request, plan);
  }

  /** A person said yes to a call outside the plan. */
  async extend(request: ToolRequest, tool: ITool, { grounds, parts }: CallFacts): Promise<void> {
    const plan = await this.#plans.get(turnOf(request));
    if (!plan) return;
    const reads: PlannedStep[] = [];
    const targets: Record<string, PlannedStep['targets'][string]> = {};
    for (const target of parts.targets) {
      if (grounds.isGrounded(target)) continue;
      const via = grounds.originOf(target.value)?.via;
      if (via === undefined) continue;
      targets[target.argument] = { from: 'result', of: plan.steps.length + reads.length };
      reads.push({ tool: via, targets: {} });
    }
    const step = { tool: tool.name, targets };
    this.#keep(request, Promise.resolve(plan.extended([...reads, step], tool)));
  }

  async #ask(request: ToolRequest, userWords: readonly string[]): Promise<Plan | undefined> {
    const { isOn, tools } = this.#options;
    if (!isOn || !request.planning || userWords.length === 0) return undefined;
    const listed = [...tools()].filter(({ name }) => name !== PLAN_TOOL).slice(0, MAX_TOOLS);
    const calls = await request.planning.ask({
      prompt: [...userWords, QUESTION].join('\n\n'),
      system: ['Tools that you have:', ...listed.map((tool) => this.#describe(tool))].join('\n'),
      tools: new Map([[PLAN_TOOL, planTool]]),
    });
    const call = calls.find(({ name }) => name === PLAN_TOOL);
    if (!call) return undefined;
    const plan = this.preview(call.args);
    if (typeof plan === 'string') throw new Error(plan);
    this.keep(request, plan);
    return plan;
  }

  #describe(tool: ITool): string {
    const names = Object.keys(Object(tool.parameters.properties)).map(show).join(', ');
    const about = this.#options.isVetted(tool)
      ? ` ${sanitiseDescription(tool.description, 300)}`
      : '';
    return `- ${show(tool.name)}(${names}), ${effectOf(tool) === 'read' ? 'reads' : 'acts'}.${about}`;
  }

  /** Against the tools and their schemas. */
  #problemIn(steps: readonly PlannedStep[]): string | undefined {
    const known = new Map([...this.#options.tools()].map((tool) => [tool.name, tool]));
    for (const [index, { tool: name, targets }] of steps.entries()) {
      const tool = known.get(name);
      if (!tool) return `there is no tool ${show(name)}`;
      const properties = Object.keys(Object(tool.parameters.properties));
      for (const [argument, { of }] of Object.entries(targets)) {
        const [root = ''] = argument.split('.');
        const isKnown = properties.length === 0 || properties.includes(root);
        if (!isKnown) return `${name} has no argument ${show(argument)}`;
        if (of !== undefined && of >= index)
          return `step ${index} cannot use the result of step ${of}`;
      }
    }
    return undefined;
  }

  #keep(request: ToolRequest, plan: Promise<Plan | undefined>): void {
    if (this.#plans.size >= MAX_PLANS) this.#plans.clear();
    this.#plans.set(turnOf(request), plan);
  }
}

export class Plan {
  readonly steps: readonly PlannedStep[];
  /** Tools of which a person approved a call. */
  readonly #approved: ReadonlySet<string>;

  constructor(steps: readonly PlannedStep[], approved: readonly string[] = []) {
    this.steps = steps;
    this.#approved = new Set(approved);
  }

  /** With a call that a person approved: later calls may take the same targets from the same texts. */
  extended(steps: readonly PlannedStep[], tool: ITool): Plan {
    return new Plan([...this.steps, ...steps], [...this.#approved, tool.name]);
  }

  has({ name }: ITool): boolean {
    return this.steps.some(({ tool }) => tool === name);
  }

  /**
   * It was done less often in this turn than the plan says. That is the measure of an act without targets,
   * and of targets out of free text, to which anyone who wrote it may add; a person's yes lifts it.
   */
  isOpen({ name }: ITool, grounds: Grounds): boolean {
    const planned = this.steps.filter(({ tool }) => tool === name).length;
    return this.#approved.has(name) || grounds.timesDone(name) < planned;
  }

  /** The target comes from where the plan says. */
  grounds(tool: ITool, target: Target, grounds: Grounds): boolean {
    return this.#sources(tool, target.argument).some((source) => {
      const { from, field, like } = source;
      // The plan holds the very value: no foreign text was there to put it in.
      if (like === target.value) return true;
      if (from === 'user' || from === 'operator') return false;
      if (from !== 'result' && like !== undefined && !grounds.isSaid(like)) return false;
      const via = source.of === undefined ? undefined : this.steps[source.of]?.tool;
      if (from === 'person') return like !== undefined && grounds.isPerson(target.value, like, via);
      if (grounds.isInField(target.value, via)) return true;
      return this.isOpen(tool, grounds) && grounds.isInText(target.value, { via, field });
    });
  }

  /** A link in the content may stand there: the plan says whose text it passes on. */
  allowsLink(tool: ITool, url: string, grounds: Grounds): boolean {
    const steps = this.steps.filter((step) => step.tool === tool.name);
    const sources = steps.flatMap(({ targets }) => Object.values(targets));
    return sources.some(({ from, of }) => {
      const via = of === undefined ? undefined : this.steps[of]?.tool;
      return from === 'result' && via !== undefined && grounds.holdsLink(url, via);
    });
  }

  /** For a person, a line for each step. */
  lines(): string[] {
    return this.steps.map(({ tool, why, targets }, index) => {
      const sources = Object.entries(targets).map(([argument, { from, of, like }]) => {
        const step = of === undefined ? '' : ` of ${of + 1}`;
        return `${show(argument)} from ${from}${step}${like ? ` "${show(like)}"` : ''}`;
      });
      const reason = why ? `: ${show(why)}` : '';
      return `${index + 1}. ${show(tool)}${reason}${sources.length > 0 ? ` (${sources.join(', ')})` : ''}`;
    });
  }

  #sources({ name }: ITool, argument: string): PlannedStep['targets'][string][] {
    const [root = ''] = argument.split('.');
    const steps = this.steps.filter(({ tool }) => tool === name);
    return steps.flatMap(({ targets }) => targets[argument] ?? targets[root] ?? []);
  }
}

/** All calls of a turn have one trace. */
function turnOf({ sessionId, trace }: ToolRequest): string {
  return `${sessionId} ${trace.trace_id}`;
}
