// A request that is sent again under its key is answered as the first was. It may be refused when
// its sender has lost its place meanwhile, but not because of what the first itself did: that would
// say that nothing was done. A lock may be asked for anew when the first lease is over.

import type { Recorded, Recording } from './history.ts';
import { type Violation, violation } from './violation.ts';

export function checkRepeats({ operations }: Recording): readonly Violation[] {
  const byId = new Map(operations.map((recorded) => [recorded.id, recorded]));
  const alive = lastSeenAlive(operations);
  return operations.flatMap((repeat) => {
    const first = repeat.operation.kind === 'repeat' ? byId.get(repeat.operation.of) : undefined;
    if (first === undefined || isRight(first, repeat, alive)) return [];
    const message = `${first.id} was answered in another way when it came again`;
    return [violation('repeated_once', message, [first, repeat])];
  });
}

function isRight(
  { operation, session, outcome: first }: Recorded,
  { outcome: again, returnedAt }: Recorded,
  alive: ReadonlyMap<string, number>,
): boolean {
  if (first.kind !== 'ok' || again.kind === 'unknown') return true;
  const { version, token } = first.result;
  const isOver = (alive.get(`${session} ${token}`) ?? 0) < returnedAt;
  if (operation.kind === 'acquire' && isOver) return true;
  if (again.kind === 'refused') return !OWN_DOING.has(again.reason);
  return version === again.result.version && token === again.result.token;
}

/** By session and token, when a lease was last known to live: it could be renewed or released. */
function lastSeenAlive(operations: readonly Recorded[]): Map<string, number> {
  return new Map(
    operations.flatMap(({ operation, session, outcome, invokedAt }) => {
      const isLife = operation.kind === 'renew' || operation.kind === 'release';
      if (!isLife || outcome.kind !== 'ok') return [];
      return [[`${session} ${operation.token}`, invokedAt] as const];
    }),
  );
}

/** In the way of a request that begins anew may be what it has done itself. */
const OWN_DOING: ReadonlySet<string> = new Set(['conflict', 'lock_held', 'idempotency_key_reused']);
