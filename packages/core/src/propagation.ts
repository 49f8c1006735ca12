// How trace, depth, chain and mandate travel: as HTTP headers, or as keys of MCP `_meta` and other
// metadata. Keys match in any case. Spellings of one key that disagree are BAD_INPUT.

import { type Hop, parseChain, parseDepth, ROOT_HOP } from './hop.ts';
import { normalName } from './names.ts';
import type { CallContext } from './ports/adapter.ts';
import { failure } from './reasons.ts';
import { createTrace, parseTraceId, parseTraceparent, type Trace, toTraceparent } from './trace.ts';

export const HEADER = {
  trace: 'x-openstarry-trace-id',
  depth: 'x-openstarry-depth',
  chain: 'x-openstarry-chain',
  traceparent: 'traceparent',
} as const;

export const META = {
  trace: 'x-openstarry-trace-id',
  depth: 'x-openstarry-depth',
  chain: 'io.starloom/chain',
  traceparent: 'traceparent',
} as const;

/** Where a call comes from, as far as its carrier states it. */
export interface Origin {
  readonly traceId: string | undefined;
  /** The trace was named by our own key, as agents of a fabric do, not by `traceparent` alone. */
  readonly named: boolean;
  readonly parentSpanId: string | undefined;
  readonly hop: Hop;
  /** The carrier wrote the depth; a root call needs none. */
  readonly depthIsStated: boolean;
}

type Keys = typeof HEADER | typeof META;
type Field = keyof Keys;
type Carrier = Readonly<Record<string, unknown>>;

export function toHeaders(trace: Trace, hop: Hop): Record<string, string> {
  return write(HEADER, trace, hop);
}

export function toMeta(trace: Trace, hop: Hop): Record<string, string> {
  return write(META, trace, hop);
}

/** Reads lower-case header names, as Node gives them. */
export function fromHeaders(headers: Carrier): Origin {
  return toOrigin((field) => {
    const value = Object.hasOwn(headers, HEADER[field]) ? headers[HEADER[field]] : undefined;
    return Array.isArray(value) ? value.join(',') : value;
  });
}

export function fromMeta(meta: Carrier): Origin {
  const values: Partial<Record<Field, unknown>> = {};
  for (const key of Object.keys(meta)) {
    const field = FIELD_LENGTHS.has(key.length) ? FIELDS.get(key.toLowerCase()) : undefined;
    if (field === undefined) continue;
    const value = meta[key];
    if (values[field] !== undefined && !isSame(field, values[field], value))
      throw failure('trace', { key: key.toLowerCase() });
    values[field] = value;
  }
  return toOrigin((field) => values[field]);
}

/** Two carriers of one call: each field from the first that has it, the depth being the larger. */
export function mergeOrigins(first: Origin, second: Origin): Origin {
  const chain = first.hop.chain.length > 0 ? first.hop.chain : second.hop.chain;
  const isOneTrace = first.traceId === undefined || first.traceId === second.traceId;
  return {
    traceId: first.traceId ?? second.traceId,
    named: first.traceId === undefined ? second.named : first.named,
    parentSpanId: first.parentSpanId ?? (isOneTrace ? second.parentSpanId : undefined),
    hop: { depth: Math.max(first.hop.depth, second.hop.depth), chain },
    depthIsStated: first.depthIsStated || second.depthIsStated,
  };
}

/** What a signed credential says: a trace of its own, and the least depth. */
export function assignedOrigin(traceId: string, depth: number): Origin {
  const hop = { depth, chain: [] };
  return { traceId, named: true, parentSpanId: undefined, hop, depthIsStated: true };
}

/** The trace to answer a refused call with: the caller's, when it can be read. */
export function toAnswerTrace(readOrigin: () => Origin): Trace {
  try {
    const { traceId, parentSpanId } = readOrigin();
    return createTrace(traceId, parentSpanId);
  } catch {
    return createTrace();
  }
}

function write(keys: Keys, trace: Trace, hop: Hop): Record<string, string> {
  const carrier: Record<string, string> = {
    [keys.trace]: trace.trace_id,
    [keys.depth]: String(hop.depth),
    [keys.traceparent]: toTraceparent(trace),
  };
  if (hop.chain.length > 0) carrier[keys.chain] = formatChain(hop.chain);
  return carrier;
}

function toOrigin(read: (field: Field) => unknown): Origin {
  const named = read('trace');
  const traceparent = read('traceparent');
  const depth = read('depth');
  const chain = read('chain');
  const w3c = typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined;
  const traceId = typeof named === 'string' ? parseTraceId(named) : undefined;
  return {
    traceId: traceId ?? w3c?.traceId,
    named: traceId !== undefined,
    parentSpanId: traceId === undefined || traceId === w3c?.traceId ? w3c?.spanId : undefined,
    hop: {
      depth: depth === undefined ? ROOT_HOP.depth : parseDepth(depth),
      chain: chain === undefined || chain === '' ? [] : parseChain(chain),
    },
    depthIsStated: depth !== undefined,
  };
}

/** Metadata may carry the names of headers, too. */
const FIELDS: ReadonlyMap<string, Field> = new Map(
  [HEADER, META].flatMap((keys) =>
    Object.entries(keys).map(([field, key]) => [key, field as Field] as const),
  ),
);

const FIELD_LENGTHS: ReadonlySet<number> = new Set(Array.from(FIELDS.keys(), (key) => key.length));

/** One trace id may stand with dashes and without, one depth as number and as text. */
function isSame(field: Field, first: unknown, second: unknown): boolean {
  const [one, two] = [String(first), String(second)];
  return one === two || (field === 'trace' && parseTraceId(one) === parseTraceId(two));
}

/** The hop with one more link, as the agent that serves the call sees it. */
export function extendChain(hop: Hop, agentId: string, capability: string): Hop {
  return { depth: hop.depth, chain: [...hop.chain, toLink(agentId, capability)] };
}

/** One flat text: it travels in `_meta`, and one made of pieces makes `JSON.stringify` of all arguments half as fast. */
export function toLink(agentId: string, capability: string): string {
  return [agentId, capability].join('/');
}

export function formatChain(chain: readonly string[]): string {
  return chain.join(',');
}

/**
 * The loop that calling `link` would close: from its earlier occurrence, in any spelling, to itself
 * again.
 */
export function findCycle(chain: readonly string[], link: string): string[] | undefined {
  if (chain.length === 0) return undefined;
  const normal = normalName(link);
  const start = chain.findIndex((earlier) => normalName(earlier) === normal);
  return start === -1 ? undefined : [...chain.slice(start), link];
}

/**
 * How a mandate travels to an agent that asked for one (`auth.mandate: true`): as a header, as a key of
 * MCP `_meta` and other metadata, or as a field beside the envelope on a line of NDJSON. Every adapter
 * adds what fits its protocol to each call: `...toMandateHeaders(context)`.
 */
export const MANDATE = {
  header: 'x-agent-mandate',
  meta: 'io.starloom/mandate',
  line: 'mandate',
} as const;

type Carried = Pick<CallContext, 'mandate'>;

/** Headers of the request that carries a call; none for agents that get no mandate. */
export function toMandateHeaders({ mandate }: Carried): Record<string, string> {
  return mandate === undefined ? {} : { [MANDATE.header]: mandate };
}

/** The same for MCP `_meta`, A2A metadata and the like. */
export function toMandateMeta({ mandate }: Carried): Record<string, string> {
  return mandate === undefined ? {} : { [MANDATE.meta]: mandate };
}

/** The same for a line of JSON, beside `envelope`. */
export function toMandateLine({ mandate }: Carried): Record<string, string> {
  return mandate === undefined ? {} : { [MANDATE.line]: mandate };
}

/** The mandate of a call that came in, by metadata or header; the first that is there. */
export function fromMandateCarriers(
  meta: Readonly<Record<string, unknown>> | undefined,
  headers: Readonly<Record<string, unknown>>,
): string | undefined {
  const carried = meta?.[MANDATE.meta] ?? headers[MANDATE.header];
  return typeof carried === 'string' ? carried : undefined;
}
