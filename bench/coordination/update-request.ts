import { randomUUID } from 'node:crypto';
import { KEYS_PER_SESSION, VALUE } from './plan.ts';

/** How a writer shows that it may write; `with_lock` takes the lock for this one update. */
export type LockProof = { readonly lock_token: number } | { readonly with_lock: true };

/** The requests of one writer as texts, one for each of its keys. */
export function updateRequests(session_id: string, proof: LockProof): readonly string[] {
  return Array.from({ length: KEYS_PER_SESSION }, (_, id) => {
    const params = { session_id, update: { [`key${id}`]: VALUE }, ...proof };
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'context_coordinator.update', params });
  });
}

/** Requests that make a writer of a new client, in this order; `acquire` needs the session's id. */
export function createSession() {
  return { method: 'session_manager.create', params: { agent_id: randomUUID() } } as const;
}

export function acquireContext(session_id: string) {
  return { method: 'memory_locker.acquire', params: { session_id, ttl_ms: HOUR_MS } } as const;
}

const HOUR_MS = 3_600_000;
