// A planner that is scripted from the words of a case: it names the tools of the user's steps, and for each
// target that the user did not type the step whose result holds it. It sees no result of the attacker's.

import type { ITool } from '@starloom/sdk';
import type { PlannedStep } from '../src/core/seams.ts';
import { effectOf } from '../src/trust/effect.ts';
import { recordsIn } from '../src/trust/records.ts';
import { partsOf } from '../src/trust/targets.ts';
import { toolNames } from '../src/trust/tool-name.ts';
import { bareUrl, linksIn } from '../src/trust/urls.ts';
import { splitMessage, Words } from '../src/trust/words.ts';
import type { Case, CaseStep } from './case.ts';

/** `forgetting` leaves out every fourth source. */
export type PlannerKind = 'scripted' | 'forgetting';

type Source = PlannedStep['targets'][string];

export function planOf(
  one: Case,
  turn: number,
  tools: ReadonlyMap<string, ITool>,
  kind: PlannerKind,
): { steps: PlannedStep[] } {
  const turns = [...one.earlier, { user: one.user, steps: one.steps }].slice(0, turn + 1);
  const said = turns.map(({ user }) => splitMessage(user).typed).join('\n');
  const steps = turns.flatMap((each) => each.steps);
  const planned = steps.map((step, index) => ({
    tool: step.tool,
    targets: sourcesOf(step, steps.slice(0, index), said, tools.get(step.tool)),
  }));
  // A planner would also plan what the user asked for and a case leaves out: the attacker's call may pose for it.
  const words = new Words(said);
  const asked = one.attack
    .filter(({ tool: name, args }) => {
      const tool = tools.get(name);
      if (!tool || effectOf(tool, args) === 'read' || steps.some((step) => step.tool === name))
        return false;
      return isNamed(tool, args, words);
    })
    .map(({ tool }) => ({ tool, targets: {} }));
  const all = withoutLoops([...planned, ...asked]);
  return { steps: kind === 'forgetting' ? forget(all, one.id) : all };
}

/** Who plans does not know how often: of neighbours that are alike one is left. Later steps keep their places. */
function withoutLoops(steps: readonly PlannedStep[]): PlannedStep[] {
  const places: number[] = [];
  const kept: PlannedStep[] = [];
  for (const { tool, targets } of steps) {
    const moved = Object.entries(targets).map(([name, { of, ...source }]) => [
      name,
      { ...source, ...(of !== undefined && { of: places[of] ?? of }) },
    ]);
    const step = { tool, targets: Object.fromEntries(moved) };
    if (JSON.stringify(kept.at(-1)) !== JSON.stringify(step)) kept.push(step);
    places.push(kept.length - 1);
  }
  return kept;
}

/** By its verb, and by one of its nouns or all of its targets. */
function isNamed(tool: ITool, args: unknown, words: Words): boolean {
  const { targets } = partsOf(tool, args);
  const isSaid = targets.length > 0 && targets.every(({ value }) => words.has(value));
  return toolNames(tool).some(([verbs = [], ...nouns]) => {
    const isAsked = verbs.some((verb) => words.asksTo(verb));
    return isAsked && (isSaid || nouns.every((group) => group.some((noun) => words.hasForm(noun))));
  });
}

function sourcesOf(
  step: CaseStep,
  before: readonly CaseStep[],
  said: string,
  tool: ITool | undefined,
): Record<string, Source> {
  if (!tool) return {};
  const { targets } = partsOf(tool, step.args);
  const words = new Words(said);
  const isSaid = (value: string) => words.has(value);
  const found = targets.flatMap(({ argument, value }): [string, Source][] => {
    if (isSaid(value)) return [[argument, { from: 'user' }]];
    const source = findIn(value, before);
    return source ? [[argument, source]] : [];
  });
  const links = Object.entries(step.args).flatMap(([argument, value]): [string, Source][] => {
    if (typeof value !== 'string' || found.some(([known]) => known === argument)) return [];
    const source = linksIn(value)
      .filter((link) => !isSaid(link))
      .map((link) => findIn(link, before))
      .find((one) => one !== undefined);
    return source ? [[argument, source]] : [];
  });
  return Object.fromEntries([...found, ...links]);
}

/** The field is named where the value stands inside a text, as a planner has to say. */
function findIn(value: string, before: readonly CaseStep[]): Source | undefined {
  const wanted = bareUrl(value.toLowerCase());
  const at = before.findLastIndex(({ result }) => result.toLowerCase().includes(wanted));
  if (at === -1) return undefined;
  const fields = recordsIn(before[at]?.result ?? '').flat();
  const isWhole = fields.some((field) => field.value.toLowerCase() === wanted);
  const field = fields.find((one) => one.value.toLowerCase().includes(wanted));
  return { from: 'result', of: at, ...(!isWhole && field && { field: field.key }) };
}

function forget(steps: readonly PlannedStep[], id: string): PlannedStep[] {
  let count = [...id].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
  return steps.map((step) => ({
    ...step,
    targets: Object.fromEntries(
      Object.entries(step.targets).filter(() => {
        count += 1;
        return count % 4 !== 0;
      }),
    ),
  }));
}
