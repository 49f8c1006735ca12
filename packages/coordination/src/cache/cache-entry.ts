import { createHash } from 'node:crypto';
import type { Json } from '@starloom/core';
import { z } from 'zod';
import type { Caller } from '../agents/caller.ts';
import { digestibleJson, jsonSchema } from '../json/json.ts';
import { digest } from '../partitions.ts';

/** A result; it is valid while none of its labels was invalidated after it was stored. */
export const cacheEntrySchema = z.object({
  tool: z.string(),
  tool_version: z.string().nullable(),
  result: jsonSchema,
  labels: z.array(z.string()),
  agent_id: z.string(),
  at: z.number(),
});
export type CacheEntry = z.infer<typeof cacheEntrySchema>;

/** What the index knows of an entry. */
export const cacheInfoSchema = z.object({
  tool: z.string(),
  labels: z.array(z.string()),
  bytes: z.number(),
  at: z.number(),
});
export type CacheInfo = z.infer<typeof cacheInfoSchema>;

export interface CacheName {
  readonly tool: string;
  readonly params: Json;
  readonly tool_version?: string | undefined;
}

/** Equal for equal parameters, for every caller and in any process. */
export function cacheKey({ tool, params, tool_version = '' }: CacheName): string {
  const text = digestibleJson([tool, tool_version, params]);
  return createHash('sha256').update(text).digest('hex');
}

/** What an entry can be invalidated by. */
export function labelsOf(
  { tool }: CacheName,
  key: string,
  {
    tags,
    dependencies,
  }: { readonly tags: readonly string[]; readonly dependencies: readonly string[] },
): readonly string[] {
  return [...ownLabels(tool, key), ...tags.map(tagLabel), ...dependencies.map(dependencyLabel)];
}

export function ownLabels(tool: string, key: string): readonly [string, string] {
  return [entryLabel(key), toolLabel(tool)];
}

export const entryLabel = (key: string) => `entry:${key}`;
export const toolLabel = (tool: string) => `tool:${tool}`;
export const tagLabel = (tag: string) => `tag:${tag}`;
export const dependencyLabel = (dependency: string) => `dependency:${dependency}`;

export const markKey = (label: string) => `invalidated/${label}`;
/** Who computes it; the version of the entry is when that began. */
export const claimKey = (key: string) => `claim/${key}`;
export const entryKey = (key: string) => `entry/${key}`;
export const infoKey = (key: string) => `info/${key}`;
export const usedKey = (key: string) => `used/${key}`;
export const countKey = (name: string) => `count/${name}`;

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
