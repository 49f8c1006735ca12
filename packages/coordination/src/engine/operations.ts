import type {
  AcquireResult,
  Commit,
  CommitResult,
  Lease,
  LeaseRequest,
  LockedCommitResult,
  ReleaseResult,
} from '../coordination-store.ts';
import { acquireAndCommit, commit } from './commit.ts';
import { acquire, breakLease, cancelWait, release, renew } from './leases.ts';
import type { Partition } from './partition.ts';

type LeaseId = Pick<Lease, 'resource' | 'token'>;

/** What may change a partition. Arguments are what a log keeps, together with the time. */
export interface Operations {
  commit: { args: [commit: Commit]; result: CommitResult };
  acquireAndCommit: {
    args: [
      request: Pick<LeaseRequest, 'resource' | 'holder' | 'priority'>,
      commit: Omit<Commit, 'fence'>,
    ];
    result: LockedCommitResult;
  };
  acquire: { args: [request: LeaseRequest]; result: AcquireResult };
  renew: { args: [lease: LeaseId, ttlMs: number]; result: Lease | undefined };
  release: { args: [lease: LeaseId]; result: ReleaseResult };
  breakLease: { args: [resource: string, token?: number]; result: ReleaseResult };
  cancelWait: { args: [ticket: string]; result: boolean };
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
