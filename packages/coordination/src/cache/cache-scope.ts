import { digest } from '../partitions.ts';

/** Who shares results: all agents of a principal, one agent, or the members of a session. */
export const CACHE_SCOPES = ['principal', 'agent', 'session'] as const;
export type CacheScope = (typeof CACHE_SCOPES)[number];

export function principalCacheScope(principalId: string): string {
  return `principal-${digest(principalId)}`;
}

export function agentCacheScope(agentId: string): string {
  return `agent-${agentId}`;
}

export function sessionCacheScope(sessionId: string): string {
  return `session-${sessionId}`;
}
