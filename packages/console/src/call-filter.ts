// Which calls a list shows. The gateway applies it to the journal, the page to the calls that its stream brings.

import type { CallFilter, CallRow } from './api-types.ts';

export function matchesFilter(row: CallRow, filter: CallFilter): boolean {
  const isOneOf = (wanted: string | undefined, ...values: (string | undefined)[]) =>
    !wanted || valuesOf(wanted).some((one) => values.includes(one));
  const { agent_id, primary_id, capability, principal, error_code, trace_id } = row;
  const text = [agent_id, primary_id, capability, principal, error_code, trace_id]
    .join(' ')
    .toLowerCase();
  return (
    isOneOf(filter.agent, agent_id, primary_id) &&
    isOneOf(filter.capability, capability) &&
    isOneOf(filter.principal, principal) &&
    isOneOf(filter.status, row.status, error_code) &&
    isOneOf(filter.face, row.face) &&
    isOneOf(filter.fallback, String(row.fallback)) &&
    (!filter.min_ms || (row.duration_ms ?? 0) >= Number(filter.min_ms)) &&
    wordsOf(filter.q).every((word) => text.includes(word))
  );
}

/** Several values are separated by commas. */
export function valuesOf(text: string): readonly string[] {
  return text.split(',').map((one) => one.trim());
}

export function wordsOf(text = ''): readonly string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}
