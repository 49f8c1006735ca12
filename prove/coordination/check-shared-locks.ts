// While a shared lease lives nobody writes: what was read under it reads the same until it ends. It
// has lived from its grant on when it could still be renewed.

import type { Recorded, Recording } from './history.ts';
import { type Violation, violation } from './violation.ts';

export function checkSharedLocks({ operations }: Recording): readonly Violation[] {
  const accepted = operations.filter(({ outcome }) => outcome.kind === 'ok');
  const renewals = new Map(
    accepted.flatMap((renewal) => {
      const { operation, session } = renewal;
      return operation.kind === 'renew' ? [[`${session} ${operation.token}`, renewal]] : [];
    }),
  );
  return [...readsByLease(accepted)].flatMap(([lease, reads]) => {
    const renewal = renewals.get(lease);
    const covered = reads.filter(({ returnedAt }) => returnedAt < (renewal?.invokedAt ?? 0));
    const [first, ...others] = covered;
    const other = first && others.find((read) => versionOf(read) !== versionOf(first));
    if (first === undefined || other === undefined) return [];
    const message = `a value changed under the shared lease ${lease}`;
    const excerpt = renewal ? [first, other, renewal] : [first, other];
    return [violation('shared_keeps_writers_out', message, excerpt)];
  });
}

/** All of one key. */
function readsByLease(accepted: readonly Recorded[]): Map<string, Recorded[]> {
  const reads = accepted.filter(({ operation }) => {
    return operation.kind === 'read' && operation.token !== undefined;
  });
  return Map.groupBy(reads, ({ session, operation }) => {
    return `${session} ${'token' in operation ? operation.token : ''}`;
  });
}

function versionOf({ outcome }: Recorded): number | undefined {
  return outcome.kind === 'ok' ? outcome.result.version : undefined;
}
