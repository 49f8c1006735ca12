import { type CallContext, type Envelope, toHeaders, toMandateHeaders } from '@starloom/core';

/** What every call over HTTP carries: trace, depth and chain, and a mandate for agents that want one. */
export function callHeaders(
  { trace, hop }: Pick<Envelope, 'trace' | 'hop'>,
  context: Pick<CallContext, 'mandate'>,
): Record<string, string> {
  return { ...toHeaders(trace, hop), ...toMandateHeaders(context) };
}
