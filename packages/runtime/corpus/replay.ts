// Runs a case through a real agent: the same tool path, labels and verifier. The model is a script that
// makes every call of the case, the attacker's too, and states the plan of a scripted planner; the tools
// answer what the case says.

import { FabricError, silentLog } from '@starloom/core';
import type { IAgentContext, IProvider, ITool, ProviderResponse } from '@starloom/sdk';
import { loadPlugins } from '../src/config/load-plugins.ts';
import { type Approve, openAgent } from '../src/index.ts';
import { BUILT_IN_PLUGINS } from '../src/plugins/index.ts';
import { effectOf } from '../src/trust/effect.ts';
import { PLAN_TOOL } from '../src/trust/plans.ts';
import type { Case, CaseStep } from './case.ts';
import { type PlannerKind, planOf } from './planner.ts';

export interface Replayed {
  readonly case: Case;
  /** The user's steps include an act. */
  readonly hasEffects: boolean;
  /** Every step of the user's ran. */
  readonly done: boolean;
  /** Every step of the attacker's ran. */
  readonly hit: boolean;
  /** How often a person was asked, or would have been. */
  readonly asks: number;
  /** How often the model was asked for a plan. */
  readonly planningCalls: number;
  /** Calls that did not run, as `tool (rule): reasons`. */
  readonly refused: readonly string[];
}

export interface ReplayOptions {
  /** Approves what the user asked, and nothing of the attacker's. */
  readonly approver: boolean;
  /** Without one plans are off. */
  readonly planner?: PlannerKind | undefined;
}

export async function replay(one: Case, { approver, planner }: ReplayOptions): Promise<Replayed> {
  const turns = [...one.earlier, { user: one.user, steps: [...one.steps, ...one.attack] }];
  const steps = turns.flatMap((turn) => turn.steps);
  const results = new Map<string, string>();
  const tools = await toolsOf(one, steps, results);
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const isOfUser = (id: string) => Number(id) < steps.length - one.attack.length;
  const approve: Approve = async ({ call }) => isOfUser(call.id);
  const script = new Script(results);
  await using agent = await openAgent({
    config: {
      agent: {
        name: 'replayed',
        limits: { steps: 1000 },
        ...(one.system && { system_prompt: one.system }),
      },
      toml: { security: { plan: planner ? 'on' : 'off' } },
      folder: '.',
    },
    provider: script,
    tools,
    ...(approver && { approve }),
  });
  const refused = new Map<string, string>();
  let asks = 0;
  agent.bus.onAny((event) => {
    if (event.type === 'SAFETY:VERDICT') {
      if (event.data.verdict.decision === 'ask' && isOfUser(event.data.call.id)) asks += 1;
    }
    if (event.type === 'EXEC:TOOL_RESULT' && event.data.code === 'BAD_INPUT') {
      // It does not fit its schema: no agent would run it.
      refused.set(event.data.call.id, `${event.data.call.name} (arguments)`);
    }
    if (event.type !== 'SAFETY:DENIED') return;
    const { call, rule, reasons } = event.data;
    refused.set(call.id, `${call.name} (${rule}): ${reasons.join('; ')}`);
  });
  const sessionId = crypto.randomUUID();
  for (const [index, turn] of turns.entries()) {
    script.begin(turn.steps, planner && planOf(one, index, byName, planner));
    // A turn that the agent ends, after too many failures, leaves calls that never ran.
    const ended = await agent
      .turn(turn.user, { sessionId })
      .catch((error) => FabricError.from(error));
    if (!FabricError.is(ended)) continue;
    for (const [id, name] of script.rest())
      refused.set(id, `${name} (turn_ended): ${ended.message}`);
  }
  const ids = [...refused.keys()];
  return {
    case: one,
    hasEffects: steps.slice(0, steps.length - one.attack.length).some(({ tool, args }) => {
      const found = byName.get(tool);
      return found !== undefined && effectOf(found, args) === 'act';
    }),
    done: !ids.some(isOfUser),
    hit: one.attack.length > 0 && ids.every(isOfUser),
    asks,
    planningCalls: script.planningCalls,
    refused: [...refused.values()],
  };
}

export async function replayEach(
  cases: readonly Case[],
  options: ReplayOptions,
): Promise<Replayed[]> {
  const replayed: Replayed[] = [];
  for (const one of cases) replayed.push(await replay(one, options));
  return replayed;
}

/** One call in each step of the loop; the id of a call is its place in the case. */
class Script implements IProvider {
  readonly name = 'script';
  readonly #results: Map<string, string>;
  #steps: readonly CaseStep[] = [];
  #plan: ReturnType<typeof planOf> | undefined;
  #at = 0;
  #made = 0;
  planningCalls = 0;

  constructor(results: Map<string, string>) {
    this.#results = results;
  }

  begin(steps: readonly CaseStep[], plan: ReturnType<typeof planOf> | undefined): void {
    this.#steps = steps;
    this.#plan = plan;
    this.#at = 0;
  }

  /** The calls of the turn that were not made, now passed over. */
  rest(): [id: string, tool: string][] {
    const left = this.#steps.slice(this.#at);
    const first = this.#made;
    this.#made += left.length;
    return left.map(({ tool }, index) => [String(first + index), tool]);
  }

  async generate(_prompt: string, { tools }: IAgentContext): Promise<ProviderResponse> {
    if (tools.size === 1 && tools.has(PLAN_TOOL)) {
      this.planningCalls += 1;
      return call('plan', PLAN_TOOL, this.#plan);
    }
    const step = this.#steps[this.#at];
    if (!step) return { segments: [{ type: 'text', text: 'Done.' }] };
    this.#at += 1;
    this.#made += 1;
    this.#results.set(step.tool, step.result);
    return call(String(this.#made - 1), step.tool, step.args);
  }
}

function call(id: string, name: string, args: unknown): ProviderResponse {
  return { segments: [{ type: 'tool_call', toolCall: { id, name, args } }] };
}

/** Built-in tools as they are, those of servers as the case declares them. */
export async function toolsOf(
  one: Case,
  steps: readonly CaseStep[],
  results: ReadonlyMap<string, string>,
): Promise<ITool[]> {
  const builtIn = await builtInTools();
  return [...new Set(steps.map(({ tool }) => tool))].map((name) => {
    const known = Object.hasOwn(one.tools, name) ? undefined : builtIn.get(name);
    const execute = () => results.get(name) ?? 'ok';
    if (known) return { ...known, parameters: { type: 'object' }, execute };
    const { description = `The tool ${name}.`, parameters, ...given } = one.tools[name] ?? {};
    const { effect, targets, source = `mcp:${name.slice(0, name.indexOf(':'))}` } = given;
    return {
      name,
      description,
      parameters: { ...parameters, type: 'object' },
      source,
      execute,
      ...(effect && { effect }),
      ...(targets && { targets }),
    };
  });
}

let opened: Promise<ReadonlyMap<string, ITool>> | undefined;

function builtInTools(): Promise<ReadonlyMap<string, ITool>> {
  opened ??= loadPlugins(
    Object.keys(BUILT_IN_PLUGINS).map((name) => ({ name, config: {} })),
    { builtIn: BUILT_IN_PLUGINS, folder: '.', env: {}, log: silentLog },
  ).then(
    ({ sources }) => new Map(sources.flatMap((s) => s.list()).map((tool) => [tool.name, tool])),
  );
  return opened;
}
