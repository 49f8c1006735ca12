import type { Caller } from '../agents/caller.ts';
import { digest } from '../partitions.ts';

/** Who shares results: all agents of a principal, one agent, or the members of a session. */
export const CACHE_SCOPES = ['principal', 'agent', 'session'] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

export function principalCacheScope(principalId: string): string {
  return `principal-${digest(principalId)}`;
}

/** Of the principal's own agent: an id that is not bound yet may be another's elsewhere. */
export function agentCacheScope({ principalId, agentId }: Caller): string {
  return `agent-${digest(`${principalId}\n${agentId}`)}`;
}

export function sessionCacheScope(sessionId: string): string {
  return `session-${sessionId}`;
}
