// How trace, depth and chain travel: as HTTP headers, or as keys of MCP `_meta` and other metadata.
// Writers send every spelling; readers take the first that is there.

import { formatChain, type Hop, parseChain, parseDepth, ROOT_HOP } from './hop.ts';
import { parseTraceId, parseTraceparent, type Trace, toTraceparent } from './trace.ts';

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
}

type Keys = typeof HEADER | typeof META;
type Carrier = Readonly<Record<string, unknown>>;

export function toHeaders(trace: Trace, hop: Hop): Record<string, string> {
  return write(HEADER, trace, hop);
}

export function toMeta(trace: Trace, hop: Hop): Record<string, string> {
  return write(META, trace, hop);
}

/** Reads lower-case header names, as Node gives them. */
export function fromHeaders(headers: Carrier): Origin {
  return read(HEADER, headers);
}

export function fromMeta(meta: Carrier): Origin {
  return read(META, meta);
}

/** Two carriers of one call: each field from the first that has it, the depth being the larger. */
export function mergeOrigins(first: Origin, second: Origin): Origin {
  const chain = first.hop.chain.length > 0 ? first.hop.chain : second.hop.chain;
  return {
    traceId: first.traceId ?? second.traceId,
    named: first.traceId === undefined ? second.named : first.named,
    parentSpanId: first.parentSpanId ?? second.parentSpanId,
    hop: { depth: Math.max(first.hop.depth, second.hop.depth), chain },
  };
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

function read(keys: Keys, carrier: Carrier): Origin {
  const text = (key: string) => {
    const value = Object.hasOwn(carrier, key) ? carrier[key] : undefined;
    return Array.isArray(value) ? value.join(',') : value;
  };
  const named = text(keys.trace);
  const traceparent = text(keys.traceparent);
  const depth = text(keys.depth);
  const chain = text(keys.chain);
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
  };
}
