import { z } from 'zod';
import type { Idempotency } from '../coordination-store.ts';
import { digest } from '../partitions.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;
const ANY_ID = /^~?[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

export const agentIdSchema = z.string().regex(ID, 'expected letters, digits, "_", ".", ":" or "-"');
export const sessionIdSchema = agentIdSchema;
/** An agent that is looked for, which may be the one of a caller that names none. */
export const anyAgentIdSchema = z.string().regex(ANY_ID, 'expected the id of an agent');

/** The agent that sends a request, as the connection and the request name it. */
export interface Caller {
  readonly agentId: string;
  readonly principalId: string;
  /** The epoch under which the agent acts; `undefined` stands for its present registration. */
  readonly epoch?: number | undefined;
  readonly traceId?: string | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Aborts when the caller is gone and does not wait for the answer. */
  readonly signal?: AbortSignal | undefined;
  /** Called with every session that admitted the caller, and with its name in the locks there. */
  readonly onAdmitted?:
    | ((sessionId: string, holder: string) => Promise<void> | undefined)
    | undefined;
  /** Called when the agent was registered by creating or joining a session. */
  readonly onRegistered?: (() => void) | undefined;
}

/**
 * The name of a caller without an agent, where none is needed. No agent can name itself so, hence it
 * needs no binding; it takes part in no session.
 */
export function implicitAgentId(principalId: string): string {
  return `~${ID.test(principalId) ? principalId : digest(principalId)}`;
}

/**
 * Does the caller name no agent? Then it has neither a registration nor a name that others could
 * take.
 */
export function isImplicit({ agentId }: Caller): boolean {
  return agentId.startsWith('~');
}

/**
 * The name of an agent in the locks of a session. It names one registration: a later one differs.
 */
export function toHolder(agentId: string, epoch: number): string {
  return `${agentId}#${epoch}`;
}

export function fromHolder(holder: string): { readonly agentId: string; readonly epoch: number } {
  const at = holder.lastIndexOf('#');
  return { agentId: holder.slice(0, at), epoch: Number(holder.slice(at + 1)) };
}

/** By what the store remembers a request; others cannot hit upon the key. */
export function idempotencyOf(
  { agentId, idempotency }: Caller,
  method: string,
): Idempotency | undefined {
  if (idempotency === undefined) return undefined;
  return { ...idempotency, key: `${agentId}/${method}/${idempotency.key}` };
}
