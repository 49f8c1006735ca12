// A campaign in which nothing happened has no violations either. This says what was missing.

import { ACTS } from './acts.ts';
import type { CampaignResult } from './tally.ts';

/** Of the searches for a linear order, no more than this may be given up. */
const MAX_UNDECIDED = 0.02;

export function findShortfalls(result: CampaignResult): readonly string[] {
  const { store, operations, deliveries, faults, acts, keys, undecided } = result;
  const never = Object.keys(faults).filter((kind) => faults[kind] === 0);
  const undone = ACTS.filter((act) => acts[act] === undefined);
  const missing = [
    operations === 0 && 'no operation',
    deliveries === 0 && 'no delivery',
    keys === 0 && 'no key whose reads and writes could be put in order',
    never.length > 0 && `no fault of the kind ${never.join(', ')}`,
    undone.length > 0 && `no operation of the kind ${undone.join(', ')}`,
    undecided > MAX_UNDECIDED * keys &&
      `${undecided} of ${keys} searches for a linear order were given up`,
  ];
  return missing.flatMap((what) => (what === false ? [] : `${store}: ${what}`));
}
