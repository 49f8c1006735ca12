// One life per agent: when a registration has been answered, no earlier life is let through.

import type { Recorded, Recording } from './history.ts';
import { type Violation, violation } from './violation.ts';

export function checkEpochs({ operations }: Recording): readonly Violation[] {
  const byAgent = Map.groupBy(operations, ({ agent }) => agent);
  return [...byAgent.values()].flatMap(checkAgent);
}

function checkAgent(operations: readonly Recorded[]): Violation[] {
  const accepted = operations.filter(({ outcome }) => outcome.kind === 'ok');
  const lives = accepted
    .filter(({ operation }) => operation.kind === 'register')
    .sort((a, b) => a.returnedAt - b.returnedAt);
  let at = 0;
  let latest: Recorded | undefined;
  const ordered = [...accepted].sort((a, b) => a.invokedAt - b.invokedAt);
  return ordered.flatMap((recorded) => {
    for (let life = lives[at]; life && life.returnedAt < recorded.invokedAt; life = lives[at]) {
      if (latest === undefined || epochOf(life) > epochOf(latest)) latest = life;
      at += 1;
    }
    if (latest === undefined || epochOf(recorded) >= epochOf(latest)) return [];
    const message = `life ${epochOf(recorded)} acted after life ${epochOf(latest)} had begun`;
    return [violation('single_epoch', message, [latest, recorded])];
  });
}

/** The life that a registration began, or in which anything else was asked. */
function epochOf({ operation, outcome, epoch }: Recorded): number {
  const begun = operation.kind === 'register' && outcome.kind === 'ok';
  return begun ? (outcome.result.epoch ?? 0) : epoch;
}
