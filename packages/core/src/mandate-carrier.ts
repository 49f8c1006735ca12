// How a mandate travels to an agent that asked for one (`auth.mandate: true`): as a header, as a key of
// MCP `_meta` and other metadata, or as a field beside the envelope on a line of NDJSON. Every adapter
// adds what fits its protocol to each call: `...toMandateHeaders(context)`.

import type { CallContext } from './ports/adapter.ts';

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
