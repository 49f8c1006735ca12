import {
  createTrace,
  fromHeaders,
  fromMeta,
  mergeOrigins,
  type Origin,
  type Trace,
} from '@starloom/core';
import type { Caller } from './call-request.ts';

type Carriers = Pick<Caller, 'headers' | 'meta'>;

/** Where a call comes from, by metadata and headers; BAD_INPUT when depth or chain are garbled. */
export function readOrigin({ headers, meta }: Carriers): Origin {
  return mergeOrigins(fromMeta(meta), fromHeaders(headers));
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
