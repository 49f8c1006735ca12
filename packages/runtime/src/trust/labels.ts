// The labels of a block and what always holds of them: untrusted is never instruction, what is tainted
// is untrusted, and the lowest trust wins where blocks are combined. `createBlock` is the only way in
// and refuses anything else; the verifier refuses calls out of a context that got round it.

import { FabricError } from '@starloom/core';
import type { Block, Trust } from '@starloom/sdk';

const HEIGHT = { untrusted: 0, vetted: 1, trusted: 2 } as const satisfies Record<Trust, number>;
const TYPES = new Set<unknown>(['instruction', 'data'] satisfies Block['type'][]);

/** How many ids a lineage keeps, the newest. A cut lineage never raises the trust. */
export const LINEAGE_BOUND = 32;

export const TRUST_LEVELS = ['trusted', 'vetted', 'untrusted'] as const satisfies readonly Trust[];

export type NewBlock = Omit<Block, 'id'> & { readonly id?: string };

/** A frozen block; a label that cannot be is BAD_INPUT. */
export function createBlock({ id = crypto.randomUUID(), ...block }: NewBlock): Block {
  const reason = brokenLabel(block);
  if (reason) {
    throw new FabricError('BAD_INPUT', 'A block of context has a label that cannot be', {
      details: {
        reason,
        source: block.source,
        fix: 'label what others wrote as untrusted data, and let only the operator and the user instruct',
      },
    });
  }
  const { taintedBy = [], ...rest } = block;
  return Object.freeze({
    ...rest,
    id,
    segments: Object.freeze([...block.segments]),
    ...(taintedBy.length > 0 && { taintedBy: Object.freeze(taintedBy.slice(-LINEAGE_BOUND)) }),
  });
}

/** Which of the invariants a label breaks, if any. */
export function brokenLabel({
  trust,
  type,
  taintedBy = [],
}: Pick<Block, 'trust' | 'type' | 'taintedBy'>): string | undefined {
  if (!Object.hasOwn(HEIGHT, trust)) return 'unknown_trust';
  if (!TYPES.has(type)) return 'unknown_type';
  if (trust === 'untrusted' && type === 'instruction') return 'untrusted_instruction';
  if (trust !== 'untrusted' && taintedBy.length > 0) return 'tainted_but_trusted';
  return undefined;
}

/** The lowest of them; of none at all, `trusted`. */
export function lowestTrust(levels: Iterable<Trust>): Trust {
  let lowest: Trust = 'trusted';
  for (const level of levels) if (HEIGHT[level] < HEIGHT[lowest]) lowest = level;
  return lowest;
}

/** Trust and lineage of whatever is made out of `blocks`. */
export function combineLabels(blocks: readonly Block[]): Pick<Block, 'trust' | 'taintedBy'> {
  const trust = lowestTrust(blocks.map((block) => block.trust));
  return trust === 'untrusted' ? { trust, taintedBy: lineageOf(blocks) } : { trust };
}

/**
 * Ids of the blocks by which foreign words came in, oldest first. A block made out of others stands
 * for those, so that a summary still points at what was summed up.
 */
function lineageOf(blocks: readonly Block[]): string[] {
  const ids = new Set<string>();
  for (const block of blocks) {
    if (block.trust !== 'untrusted') continue;
    for (const id of block.taintedBy ?? [block.id]) {
      ids.delete(id);
      ids.add(id);
    }
  }
  return [...ids].slice(-LINEAGE_BOUND);
}
