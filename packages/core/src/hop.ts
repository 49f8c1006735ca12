// A hop is the depth and chain of a call. Depth is that of the call which carries it: a root call is 1, an
// agent adds 1 when it calls out, a gateway passes it on. The chain lists `agent/capability` of the calls
// above, oldest first; the same entry twice is a cycle.

import { z } from 'zod';
import { failure } from './reasons.ts';

/** The deepest call that is served. */
export const MAX_DEPTH = 5;
const DEPTH_BOUND = 1000;
const CHAIN_BOUND = 64;
const LINK = /^[a-z0-9][a-z0-9_-]{0,30}\/[A-Za-z0-9_.:-]{1,64}$/;

export const hopSchema = z.strictObject({
  depth: z.int().min(0).max(DEPTH_BOUND).default(1),
  chain: z.array(z.string().regex(LINK)).max(CHAIN_BOUND).default([]),
});

export type Hop = z.infer<typeof hopSchema>;

export const ROOT_HOP: Hop = Object.freeze({ depth: 1, chain: [] });

/** The hop of a call that `caller` makes from inside the call it is serving. */
export function nextHop(hop: Hop): Hop {
  return { depth: hop.depth + 1, chain: hop.chain };
}

/** An integer from 0 to 1000, as number or decimal digits; anything else is BAD_INPUT. */
export function parseDepth(value: unknown): number {
  const depth = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value;
  if (typeof depth === 'number' && Number.isInteger(depth) && depth >= 0 && depth <= DEPTH_BOUND) {
    return depth;
  }
  throw failure('depth');
}

/** Comma-separated `agent/capability`, oldest first; anything else is BAD_INPUT. */
export function parseChain(value: unknown): string[] {
  if (typeof value === 'string') {
    const links = value.split(',', CHAIN_BOUND + 1).flatMap((link) => link.trim() || []);
    if (links.length <= CHAIN_BOUND && links.every((link) => LINK.test(link))) return links;
  }
  throw failure('chain');
}
