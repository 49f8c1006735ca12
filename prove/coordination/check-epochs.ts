// One life per agent: when a registration has been answered, no earlier life is let through, and
// what is asked in one is refused for that very reason.

import type { Recorded, Recording } from './history.ts';
import { type Violation, violation } from './violation.ts';

export function checkEpochs({ operations }: Recording): readonly Violation[] {
  const byAgent = Map.groupBy(operations, ({ agent }) => agent);
  return [...byAgent.values()].flatMap(checkAgent);
}

function checkAgent(operations: readonly Recorded[]): Violation[] {
  const lives = operations
    .filter(({ operation, outcome }) => operation.kind === 'register' && outcome.kind === 'ok')
    .sort((a, b) => a.returnedAt - b.returnedAt);
  let at = 0;
  let latest: Recorded | undefined;
  const ordered = [...operations].sort((a, b) => a.invokedAt - b.invokedAt);
  return ordered.flatMap((recorded) => {
    for (let life = lives[at]; life && life.returnedAt < recorded.invokedAt; life = lives[at]) {
      if (latest === undefined || epochOf(life) > epochOf(latest)) latest = life;
      at += 1;
    }
    if (latest === undefined || epochOf(recorded) >= epochOf(latest)) return [];
    const fault = findFault(recorded);
    if (fault === undefined) return [];
    const message = `life ${epochOf(recorded)} ${fault} after life ${epochOf(latest)} had begun`;
    return [violation('single_epoch', message, [latest, recorded])];
  });
}

/** What is wrong with how one from an earlier life was treated. */
function findFault({ operation, outcome }: Recorded): string | undefined {
  if (operation.kind === 'register' && outcome.kind !== 'ok') return undefined;
  if (outcome.kind === 'ok') return 'acted';
  if (outcome.kind === 'unknown' || outcome.code === STALE || NO_PLACE.has(outcome.reason)) {
    return undefined;
  }
  return `was refused with ${outcome.code} (${outcome.reason})`;
}

/** The life that a registration began, or in which anything else was asked. */
function epochOf({ operation, outcome, epoch }: Recorded): number {
  const begun = operation.kind === 'register' && outcome.kind === 'ok';
  return begun ? (outcome.result.epoch ?? 0) : epoch;
}

/** Stale token or epoch, as the contract numbers it. */
const STALE = -32_015;
/** Whoever is not in the session is told nothing of lives. */
const NO_PLACE: ReadonlySet<string> = new Set(['not_found']);
