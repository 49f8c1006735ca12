import { checkDeliveries } from './check-deliveries.ts';
import { checkAcknowledged, checkSums } from './check-effects.ts';
import { checkEpochs } from './check-epochs.ts';
import { checkStaleWrites, checkTokens } from './check-locks.ts';
import { checkRepeats } from './check-repeats.ts';
import { checkSharedLocks } from './check-shared-locks.ts';
import type { Recording } from './history.ts';
import { checkKeys } from './key-model.ts';
import type { Violation } from './violation.ts';

export interface Checked {
  readonly violations: readonly Violation[];
  /** Keys that were searched for a linear order, and those where the search was given up. */
  readonly keys: number;
  readonly undecided: number;
}

export function check(recording: Recording): Checked {
  const { violations, checked: keys, undecided } = checkKeys(recording);
  const invariants = [
    checkTokens,
    checkStaleWrites,
    checkSharedLocks,
    checkDeliveries,
    checkSums,
    checkEpochs,
    checkAcknowledged,
    checkRepeats,
  ];
  const found = invariants.flatMap((checkOne) => checkOne(recording));
  return { violations: [...found, ...violations], keys, undecided };
}
