import {
  createTrace,
  fromHeaders,
  fromMeta,
  mergeOrigins,
  type Origin,
  type Trace,
} from '@starloom/core';
import type { Caller } from './call-request.ts';

type Carriers = Pick<Caller, 'headers' | 'meta' | 'principal'>;

/** Where a call comes from, by metadata and headers; BAD_INPUT when depth or chain are garbled. */
export function readOrigin({ headers, meta, principal }: Carriers): Origin {
  const stated = mergeOrigins(fromMeta(meta), fromHeaders(headers));
  const { traceId, depth } = principal.delegation ?? {};
  if (traceId === undefined || depth === undefined) return stated;
  // A mandate names its trace: its bearer cannot begin another one, nor come up from where it is.
  const { hop } = stated;
  return {
    traceId,
    named: true,
    parentSpanId: stated.traceId === traceId ? stated.parentSpanId : undefined,
    hop: { ...hop, depth: Math.max(hop.depth, depth + 1) },
  };
}

/** A trace to answer with when the call was refused before it had one: the caller's, if it can be read. */
export function answerTrace(carriers: Carriers): Trace {
  try {
    const { traceId, parentSpanId } = readOrigin(carriers);
    return { ...createTrace(traceId), parent_span_id: parentSpanId ?? null };
  } catch {
    return createTrace();
  }
}
