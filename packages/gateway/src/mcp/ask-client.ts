// Questions to the client of a call, in revisions before 2026-07-28: requests of the server, sent on
// the stream of the call that they belong to.

import type { ClientCapabilities, RequestId, Server } from '@modelcontextprotocol/server';
import { QUESTION_MS } from '@starloom/core';

type Params = Record<string, unknown>;

/** What the client can be asked, by the capability that it declares for it. */
const CAPABILITY_OF = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const satisfies Record<string, keyof ClientCapabilities>;

export type ClientMethod = keyof typeof CAPABILITY_OF;

export interface ClientQuestion {
  readonly method: ClientMethod;
  readonly params?: Params | undefined;
}

export interface AskOptions {
  /** The request of the client in which it is asked. */
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  /** How long the client may take; as long as any question is open by default. */
  readonly timeoutMs?: number;
}

/** What the client declared when it connected; nothing is known without a connection or session. */
export function declaredCapabilities(server: Server): ClientCapabilities | undefined {
  return server.getClientCapabilities();
}

/** Whether the client declared that it answers such requests. */
export function canAsk(server: Server, method: string): method is ClientMethod {
  if (!Object.hasOwn(CAPABILITY_OF, method)) return false;
  return declaredCapabilities(server)?.[CAPABILITY_OF[method as ClientMethod]] !== undefined;
}

/** Whether there is anything that the client answers. */
export function canAskAnything(server: Server): boolean {
  const declared = declaredCapabilities(server);
  return Object.values(CAPABILITY_OF).some((capability) => declared?.[capability] !== undefined);
}

/** Asks the client, and gives its answer as it came. Rejects with its JSON-RPC error. */
export async function askClient(
  server: Server,
  { method, params = {} }: ClientQuestion,
  { requestId, signal, timeoutMs = QUESTION_MS }: AskOptions,
): Promise<Params> {
  const options = { relatedRequestId: requestId, signal, timeout: timeoutMs };
  const request = { method, params: withElicitationId(params) };
  return (await server.request(request as never, options)) as Params;
}

/** 2025-11-25 wants one for links; the current revision has none. */
function withElicitationId(params: Params): Params {
  const isMissing = params.mode === 'url' && params.elicitationId === undefined;
  return isMissing ? { ...params, elicitationId: crypto.randomUUID() } : params;
}
