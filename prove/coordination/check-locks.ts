// Tokens order the leases of a resource, and a write under an older token than one that was granted
// before it began must have been refused, as must one under a shared lease.

import type { Recorded, Recording } from './history.ts';
import { type Violation, violation } from './violation.ts';

interface Grant {
  readonly by: Recorded;
  readonly token: number;
}

export function checkTokens(recording: Recording): readonly Violation[] {
  return [...grantsByResource(recording)].flatMap(([resource, grants]) => [
    ...checkUnique(resource, grants),
    ...checkIncreasing(resource, grants),
  ]);
}

export function checkStaleWrites(recording: Recording): readonly Violation[] {
  const grants = grantsByResource(recording);
  return [...fencedWritesBySession(recording)].flatMap(([session, writes]) => [
    ...checkMark(writes),
    ...checkAgainstGrants(writes, grants.get(`${session} context`) ?? []),
    ...checkModes(writes, grants.get(`${session} context`) ?? []),
  ]);
}

function checkUnique(resource: string, grants: readonly Grant[]): Violation[] {
  const first = new Map<number, Grant>();
  return grants.flatMap((grant) => {
    const other = first.get(grant.token);
    first.set(grant.token, grant);
    if (other === undefined) return [];
    const message = `${resource}: token ${grant.token} was granted twice`;
    return [violation('token_increases', message, [other.by, grant.by])];
  });
}

function checkIncreasing(resource: string, grants: readonly Grant[]): Violation[] {
  const before = highestReturnedBefore(grants);
  return [...grants].sort(byInvocation).flatMap((grant) => {
    const highest = before(grant.by.invokedAt);
    if (highest === undefined || highest.token < grant.token) return [];
    const message = `${resource}: token ${grant.token} came after ${highest.token}`;
    return [violation('token_increases', message, [highest.by, grant.by])];
  });
}

/** In the order of versions, no accepted write has a token below that of an earlier one. */
function checkMark(writes: readonly Grant[]): Violation[] {
  const ordered = [...writes].sort((a, b) => versionOf(a.by) - versionOf(b.by));
  let mark: Grant | undefined;
  return ordered.flatMap((write) => {
    const highest = mark;
    if (highest === undefined || write.token >= highest.token) {
      mark = write;
      return [];
    }
    const message = `a write under token ${write.token} was accepted below ${highest.token}`;
    return [violation('no_stale_write', message, [highest.by, write.by])];
  });
}

function checkAgainstGrants(writes: readonly Grant[], grants: readonly Grant[]): Violation[] {
  const before = highestReturnedBefore(grants);
  return [...writes].sort(byInvocation).flatMap((write) => {
    const highest = before(write.by.invokedAt);
    if (highest === undefined || highest.token <= write.token) return [];
    const message = `a write under token ${write.token} was accepted after ${highest.token} was granted`;
    return [violation('no_stale_write', message, [highest.by, write.by])];
  });
}

function checkModes(writes: readonly Grant[], grants: readonly Grant[]): Violation[] {
  const shared = new Map(
    grants.flatMap(({ by, token }) => {
      return by.operation.kind === 'acquire' && by.operation.mode === 'shared'
        ? [[token, by] as const]
        : [];
    }),
  );
  return writes.flatMap(({ by, token }) => {
    const grant = shared.get(token);
    if (grant === undefined) return [];
    const message = `a write under the shared token ${token} was accepted`;
    return [violation('no_stale_write', message, [grant, by])];
  });
}

function grantsByResource({ operations }: Recording): Map<string, Grant[]> {
  const byId = new Map(operations.map((by) => [by.id, by]));
  const grants = operations.flatMap((by) => {
    const first = by.operation.kind === 'repeat' ? byId.get(by.operation.of) : undefined;
    const known = first && toGrant(first)[0]?.token;
    return toGrant(by).filter(({ token }) => token !== known);
  });
  return groupBy(grants, ({ by: { session, operation } }) => {
    return `${session} ${operation.kind === 'acquire' ? operation.resource : 'context'}`;
  });
}

/** An update that takes the lock itself is told the token it had. */
function toGrant(by: Recorded): Grant[] {
  const token = by.outcome.kind === 'ok' ? by.outcome.result.token : undefined;
  return token === undefined ? [] : [{ by, token }];
}

function fencedWritesBySession({ operations }: Recording): Map<string, Grant[]> {
  const writes = operations.flatMap((by): Grant[] => {
    if (by.operation.kind !== 'write' || by.outcome.kind !== 'ok') return [];
    const token = by.operation.token ?? by.outcome.result.token;
    return token === undefined ? [] : [{ by, token }];
  });
  return groupBy(writes, ({ by }) => by.session);
}

/** For times that never go back: the grant with the highest token that had been told by then. */
function highestReturnedBefore(grants: readonly Grant[]): (time: number) => Grant | undefined {
  const ordered = [...grants].sort((a, b) => a.by.returnedAt - b.by.returnedAt);
  let at = 0;
  let highest: Grant | undefined;
  return (time) => {
    for (let grant = ordered[at]; grant && grant.by.returnedAt < time; grant = ordered[at]) {
      if (highest === undefined || grant.token > highest.token) highest = grant;
      at += 1;
    }
    return highest;
  };
}

function byInvocation(a: Grant, b: Grant): number {
  return a.by.invokedAt - b.by.invokedAt;
}

function versionOf({ outcome }: Recorded): number {
  return outcome.kind === 'ok' ? (outcome.result.version ?? 0) : 0;
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
