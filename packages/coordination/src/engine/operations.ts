import type {
  Commit,
  CommitResult,
  CoordinationStore,
  Idempotency,
  LeaseRequest,
  LockedCommitResult,
  Snapshot,
  Write,
} from '../coordination-store.ts';
import { acquire, breakLease, cancelWait, isFree, release, renew } from './leases.ts';
import type { EntryRecord, Partition } from './partition.ts';

/** An operation of the port: what it is given beside the partition, and what it answers. */
type OfStore<Name extends keyof CoordinationStore> = CoordinationStore[Name] extends (
  partition: string,
  ...args: infer Args
) => Promise<infer Result>
  ? { args: Args; result: Result }
  : never;

/** What may change a partition. Arguments are what a log keeps, together with the time. */
export interface Operations {
  commit: OfStore<'commit'>;
  acquireAndCommit: OfStore<'acquireAndCommit'>;
  acquire: OfStore<'acquire'>;
  renew: OfStore<'renew'>;
  release: OfStore<'release'>;
  breakLease: OfStore<'breakLease'>;
  cancelWait: OfStore<'cancelWait'>;
  /** No version up to there is given out again, and readers of the log find a gap. */
  skip: { args: [versions: number]; result: undefined };
  /** Only what time has made due, which every other operation does first. */
  settle: { args: []; result: undefined };
}

export type OperationName = keyof Operations;

export const operations: {
  readonly [Name in OperationName]: (
    partition: Partition,
    now: number,
    ...args: Operations[Name]['args']
  ) => Operations[Name]['result'];
} = {
  commit,
  acquireAndCommit,
  acquire,
  renew,
  release,
  breakLease,
  cancelWait,
  skip: (partition, _, versions) => {
    if (partition.version > 0) partition.skipVersions(versions);
    return undefined;
  },
  settle: () => undefined,
};

type Refusal = Extract<CommitResult, { readonly current: Snapshot }>;

function commit(partition: Partition, now: number, request: Commit): CommitResult {
  const { fence, idempotency } = request;
  const answer = partition.answers.once<CommitResult>(
    { kind: 'commit', idempotency, now },
    () => {
      if (fence && !mayWrite(partition, fence)) return { ok: false, reason: 'fenced' };
      const refusal = apply(partition, now, request);
      if (refusal !== undefined) return refusal;
      if (fence) partition.locks.setMark(fence.resource, fence.token);
      return { ok: true, version: partition.version };
    },
    ({ ok }) => ok,
  );
  return answer === 'reused' ? { ok: false, reason: 'reused' } : answer;
}

function acquireAndCommit(
  partition: Partition,
  now: number,
  { resource, priority }: Pick<LeaseRequest, 'resource' | 'holder' | 'priority'>,
  request: Omit<Commit, 'fence'>,
): LockedCommitResult {
  const answer = partition.answers.once<LockedCommitResult>(
    { kind: 'commit', idempotency: underLock(request), now },
    () => {
      if (!isFree(partition, now, { resource, mode: 'exclusive', priority })) {
        return { ok: false, reason: 'held', heldBy: [...partition.locks.leases(resource)] };
      }
      const refusal = apply(partition, now, request);
      if (refusal !== undefined) return refusal;
      const token = partition.nextNumber(now);
      partition.locks.setMark(resource, token);
      return { ok: true, version: partition.version, token };
    },
    ({ ok }) => ok,
  );
  return answer === 'reused' ? { ok: false, reason: 'reused' } : answer;
}

/** It shares its keys with `commit`: a request is the one or the other. */
export function underLock({ idempotency }: Pick<Commit, 'idempotency'>): Idempotency | undefined {
  return idempotency && { ...idempotency, request: `with lock: ${idempotency.request}` };
}

function mayWrite(
  { locks }: Partition,
  { resource, token }: NonNullable<Commit['fence']>,
): boolean {
  const lease = locks.findLease({ resource, token });
  return lease?.mode === 'exclusive' && token >= locks.mark(resource);
}

/** Applies all of it, or nothing and says why. */
function apply(partition: Partition, now: number, request: Commit): Refusal | undefined {
  const { writes, event, ifKeys } = request;
  if (isConflict(partition, request)) {
    const keys = [...writes.map(({ key }) => key), ...(ifKeys?.keys() ?? [])];
    return { ok: false, reason: 'conflict', current: partition.snapshot(now, keys) };
  }
  const version = partition.version + 1;
  const entries = writes.map((write) => toEntry(partition, write, version, now));
  if (entries.includes('not_a_number')) {
    const keys = writes.map(({ key }) => key);
    return { ok: false, reason: 'not_a_number', current: partition.snapshot(now, keys) };
  }
  partition.raiseVersion();
  for (const [index, { key }] of writes.entries()) {
    const entry = entries[index];
    if (typeof entry === 'object') partition.setEntry(key, entry);
    else partition.deleteEntry(key);
  }
  if (event !== undefined) partition.append(event, now);
  return undefined;
}

function isConflict(partition: Partition, { ifVersion, ifKeys }: Commit): boolean {
  if (ifVersion !== undefined && ifVersion !== partition.version) return true;
  for (const [key, version] of ifKeys ?? []) {
    if ((partition.entry(key)?.version ?? 0) !== version) return true;
  }
  return false;
}

function toEntry(
  partition: Partition,
  write: Write,
  version: number,
  now: number,
): EntryRecord | 'not_a_number' | undefined {
  switch (write.kind) {
    case 'delete':
      return undefined;
    case 'put': {
      const { value, ttlMs, onExpire } = write;
      const json = JSON.stringify(value);
      if (ttlMs === undefined) return { json, version };
      const expiresAt = now + ttlMs;
      if (onExpire === undefined) return { json, version, expiresAt };
      return { json, version, expiresAt, onExpire: JSON.stringify(onExpire) };
    }
    case 'increment': {
      const entry = partition.entry(write.key);
      const sum = sumOf(entry?.json ?? '0', write.by);
      return sum === undefined ? 'not_a_number' : { ...entry, json: JSON.stringify(sum), version };
    }
  }
}

function sumOf(json: string, by: number): number | undefined {
  const before: unknown = JSON.parse(json);
  if (typeof before !== 'number') return undefined;
  const sum = before + by;
  const isLost = by !== 0 && sum === before;
  return isLost || Math.abs(sum) > Number.MAX_SAFE_INTEGER ? undefined : sum;
}
