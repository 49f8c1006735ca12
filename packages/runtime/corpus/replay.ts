// Runs a case through a real agent: the same tool path, labels and verifier. The model is a script that
// makes every call of the case, the attacker's too; the tools answer what the case says.

import { silentLog } from '@starloom/core';
import type { IProvider, ITool } from '@starloom/sdk';
import { loadPlugins } from '../src/config/load-plugins.ts';
import { type Approve, openAgent } from '../src/index.ts';
import { BUILT_IN_PLUGINS } from '../src/plugins/index.ts';
import { effectOf } from '../src/trust/effect.ts';
import type { Case, CaseStep } from './case.ts';

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
  /** Calls that did not run, as `tool (rule): reasons`. */
  readonly refused: readonly string[];
}

/** An approver approves what the user asked, and nothing of the attacker's. */
export async function replay(one: Case, { approver }: { approver: boolean }): Promise<Replayed> {
  const steps = [...one.steps, ...one.attack];
  const results = new Map<string, string>();
  const tools = await toolsOf(one, steps, results);
  const isOfUser = (id: string) => Number(id) < one.steps.length;
  const approve: Approve = async ({ call }) => isOfUser(call.id);
  await using agent = await openAgent({
    config: { agent: { name: 'replayed', limits: { steps: 1000 } }, folder: '.' },
    provider: scriptOf(steps, results),
    tools,
    ...(approver && { approve }),
  });
  const refused = new Map<string, string>();
  let asks = 0;
  agent.bus.onAny((event) => {
    if (event.type === 'SAFETY:VERDICT') {
      if (event.data.verdict.decision === 'ask' && isOfUser(event.data.call.id)) asks += 1;
    }
    if (event.type !== 'SAFETY:DENIED') return;
    const { call, rule, reasons } = event.data;
    refused.set(call.id, `${call.name} (${rule}): ${reasons.join('; ')}`);
  });
  await agent.turn(one.user);
  const ids = [...refused.keys()];
  const acts = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    case: one,
    hasEffects: one.steps.some(({ tool, args }) => {
      const found = acts.get(tool);
      return found !== undefined && effectOf(found, args) === 'act';
    }),
    done: !ids.some(isOfUser),
    hit: one.attack.length > 0 && ids.every(isOfUser),
    asks,
    refused: [...refused.values()],
  };
}

/** One call in each step of the loop; the id of a call is its place. */
function scriptOf(steps: readonly CaseStep[], results: Map<string, string>): IProvider {
  let at = 0;
  return {
    name: 'script',
    async generate() {
      const step = steps[at];
      if (!step) return { segments: [{ type: 'text', text: 'Done.' }] };
      const id = String(at);
      at += 1;
      results.set(step.tool, step.result);
      return {
        segments: [{ type: 'tool_call', toolCall: { id, name: step.tool, args: step.args } }],
      };
    },
  };
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
