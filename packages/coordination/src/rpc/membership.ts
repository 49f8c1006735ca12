import { setTimeout } from 'node:timers/promises';
import type { Caller } from '../agents/caller.ts';
import type { CoordinationStore } from '../coordination-store.ts';
import { isReason } from '../errors.ts';
import { HEAD, partitionOf } from '../partitions.ts';
import type { SessionAccess } from '../session/session-access.ts';

const RETRY_MS = 250;

export interface Membership {
  readonly store: CoordinationStore;
  readonly access: SessionAccess;
  readonly caller: Pick<Caller, 'agentId' | 'principalId'>;
  readonly sessionId: string;
  /** Does anybody still want to know? */
  readonly isWanted: () => boolean;
}

/**
 * The version of the context, if the agent may still receive events of the session. Asks until the
 * store answers.
 */
export async function versionForMember(membership: Membership): Promise<number | undefined> {
  const { store, access, caller, sessionId, isWanted } = membership;
  while (isWanted()) {
    try {
      await access.fresh(caller, sessionId, { role: 'reader' });
      const { entries } = await store.read(partitionOf.session(sessionId), [HEAD]);
      return entries.get(HEAD)?.version ?? 0;
    } catch (error) {
      if (isReason(error, 'not_found') || isReason(error, 'stale_epoch')) return undefined;
      await setTimeout(RETRY_MS, undefined, { ref: false });
    }
  }
  return undefined;
}
