// How trace, depth and chain travel: as HTTP headers, or as keys of MCP `_meta` and other metadata.
// Keys match in any case. Spellings of one key that disagree are BAD_INPUT.

import { FabricError } from './errors.ts';
import { formatChain, type Hop, parseChain, parseDepth, ROOT_HOP } from './hop.ts';
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
    const field = FIELDS.get(key) ?? FIELDS.get(key.toLowerCase());
    if (field === undefined) continue;
    const value = meta[key];
    if (values[field] !== undefined && !isSame(field, values[field], value)) throw disagree(key);
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
    return { ...createTrace(traceId), parent_span_id: parentSpanId ?? null };
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

/** One trace id may stand with dashes and without, one depth as number and as text. */
function isSame(field: Field, first: unknown, second: unknown): boolean {
  const [one, two] = [String(first), String(second)];
  return one === two || (field === 'trace' && parseTraceId(one) === parseTraceId(two));
}

function disagree(key: string): FabricError {
  return new FabricError('BAD_INPUT', `Two spellings of ${key.toLowerCase()} disagree`, {
    details: { reason: 'trace', fix: 'send each key of the trace once' },
  });
}
