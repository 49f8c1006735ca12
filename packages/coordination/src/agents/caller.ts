import { z } from 'zod';
import type { Idempotency } from '../coordination-store.ts';
import { digest } from '../partitions.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;
const ANY_ID = /^~?[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

export const agentIdSchema = z.string().regex(ID, 'expected letters, digits, "_", ".", ":" or "-"');
export const sessionIdSchema = agentIdSchema;
/** An agent that is looked for, which may be the one of a caller that names none. */
export const anyAgentIdSchema = z.string().regex(ANY_ID, 'expected the id of an agent');

/** Who asks, as far as the connection and the request say. */
export interface Caller {
  readonly agentId: string;
  readonly principalId: string;
  /** The life of the agent it acts in; `undefined` when it did not say, then the present one. */
  readonly epoch?: number | undefined;
  readonly traceId?: string | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Aborts when the caller is gone and nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
  /** Told of every session it was let into, and by which name in the locks there. */
  readonly onAdmitted?:
    | ((sessionId: string, holder: string) => Promise<void> | undefined)
    | undefined;
}

/**
 * The agent of a caller that names none. No agent can name itself so, hence it needs no binding.
 */
export function implicitAgentId(principalId: string): string {
  return `~${ID.test(principalId) ? principalId : digest(principalId)}`;
}

/** Does the caller name no agent? Then it has neither a life nor a name that others could take. */
export function isImplicit({ agentId }: Caller): boolean {
  return agentId.startsWith('~');
}

/** How an agent is called in the locks of a session: one life of it, so a later one is another. */
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
