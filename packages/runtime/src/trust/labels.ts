// The labels of a block and what always holds of them: untrusted is never instruction, what is tainted
// is untrusted, and the lowest trust wins where blocks are combined. `createBlock` is the only way in
// and refuses anything else; the verifier refuses calls out of a context that got round it.

import { FabricError } from '@starloom/core';
import type { Block, Trust } from '@starloom/sdk';
import type { Labeller } from '../core/seams.ts';
import { toForeign } from './texts.ts';
import { isForeign, sourceOf } from './tool-name.ts';

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
export function brokenLabel(label: Pick<Block, 'trust' | 'type' | 'taintedBy'>) {
  const { trust, type, taintedBy = [] } = label;
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

/** Labels every block with who wrote it and whether it may instruct. */
export function createLabeller(): Labeller {
  return {
    ofSystem: (text) =>
      createSystemBlock(text, { trust: 'trusted', type: 'instruction', source: 'config' }),

    ofUser: (segments, userTrust = 'vetted') =>
      createBlock({
        role: 'user',
        segments,
        trust: userTrust,
        type: userTrust === 'untrusted' ? 'data' : 'instruction',
        source: 'user',
      }),

    ofRemote: (segments, source) =>
      createScannedBlock({ role: 'user', segments, trust: 'untrusted', type: 'data', source }),

    ofModel(response, seen) {
      const label = combineLabels(seen);
      return createBlock({
        role: 'assistant',
        segments: response.segments,
        ...label,
        trust: lowestTrust(['vetted', label.trust]),
        type: 'data',
        source: `model:${response.metadata?.model ?? 'unnamed'}`,
      });
    },

    ofTool(tool, result, seen = []) {
      const block = {
        role: 'tool',
        segments: [{ type: 'tool_result', toolResult: result }],
        type: 'data',
        source: sourceOf(tool),
      } as const;
      if (tool.untrusted !== false || isForeign(tool)) {
        return createScannedBlock({ ...block, trust: 'untrusted' });
      }
      const label = combineLabels(seen);
      return createScannedBlock({
        ...block,
        ...label,
        trust: lowestTrust(['vetted', label.trust]),
      });
    },

    // Vetted as the core's own words, but data: they may quote a name that the model made up.
    ofObservation: (text) =>
      createSystemBlock(text, { trust: 'vetted', type: 'data', source: 'core' }),
  };
}

function createSystemBlock(text: string, label: Pick<Block, 'trust' | 'type' | 'source'>): Block {
  return createBlock({ role: 'system', segments: [{ type: 'text', text }], ...label });
}

/** Read now, while no verdict waits for it. */
function createScannedBlock(block: NewBlock): Block {
  const created = createBlock(block);
  if (created.trust === 'untrusted') toForeign(created);
  return created;
}
