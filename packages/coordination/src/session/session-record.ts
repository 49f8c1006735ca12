// What a session's partition says of the session itself and of its members.

import type { Json } from '@starloom/core';
import { z } from 'zod';
import type { CoordinationStore, Snapshot } from '../coordination-store.ts';
import { jsonObjectSchema } from '../json/json.ts';
import { keyOf, META, partitionOf, ROSTER } from '../partitions.ts';

export const ROLES = ['reader', 'writer', 'owner'] as const;
export const roleSchema = z.enum(ROLES).meta({ title: 'Role' });
export type Role = z.infer<typeof roleSchema>;

export const modeSchema = z.enum(['lock', 'cas']).meta({ title: 'SessionMode' });
export const stateSchema = z.enum(['active', 'suspended', 'ended']).meta({ title: 'SessionState' });

export const accessSchema = z
  .object({
    agents: z.record(z.string(), roleSchema),
    principals: z.record(z.string(), roleSchema),
  })
  .meta({ title: 'SessionAccess' });

export const metaSchema = z.object({
  session_id: z.string(),
  mode: modeSchema,
  state: stateSchema,
  metadata: jsonObjectSchema,
  ttl_ms: z.number(),
  created_at: z.number(),
  created_by: z.string(),
  /** Whose agents may join without being listed. */
  principal: z.string(),
  /** Whether any agent that knows the id may join, too. */
  open: z.boolean(),
  access: accessSchema,
  parent: z.object({ session_id: z.string(), version: z.number() }).nullable(),
});
export type SessionMeta = z.infer<typeof metaSchema>;

export const memberSchema = z.object({
  agent_id: z.string(),
  principal: z.string(),
  role: roleSchema,
  epoch: z.number(),
  connected: z.boolean(),
  joined_at: z.number(),
  last_seen: z.number().nullable(),
});
export type Member = z.infer<typeof memberSchema>;

export function metaIn({ entries }: Snapshot): SessionMeta | undefined {
  const entry = entries.get(META);
  return entry && metaSchema.parse(entry.value);
}

export function memberIn({ entries }: Snapshot, agentId: string): Member | undefined {
  const entry = entries.get(keyOf.member(agentId));
  return entry && memberSchema.parse(entry.value);
}

const MEMBER_PREFIX = keyOf.member('');

export function membersIn({ entries }: Snapshot): readonly Member[] {
  return [...entries]
    .filter(([key]) => key.startsWith(MEMBER_PREFIX))
    .map(([, { value }]) => memberSchema.parse(value));
}

/** The session, unless it has ended, with those of its members that are the principal's. */
export function sessionFor(snapshot: Snapshot, principalId: string) {
  const session = metaIn(snapshot);
  const members = membersIn(snapshot).filter(({ principal }) => principal === principalId);
  return session && session.state !== 'ended' && members.length > 0
    ? { session, agentIds: new Set(members.map(({ agent_id }) => agent_id)) }
    : undefined;
}

const rosterSchema = z.array(z.string());

export function parseRoster(value: Json | undefined): readonly string[] {
  return value === undefined ? [] : rosterSchema.parse(value);
}

export function isRoleEnough(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/**
 * The role of an agent that asks to join; `undefined` when it may not. Agents of the principal whose
 * session it is may be what they want, but for those that were given a role themselves.
 */
export function roleOnJoin(
  { access, principal, open }: SessionMeta,
  { agentId, principalId }: { readonly agentId: string; readonly principalId: string },
  wanted: Role | undefined,
): Role | undefined {
  const own = ownRole(access.agents, agentId);
  const ofPrincipal = ownRole(access.principals, principalId);
  if (principal === principalId && own === undefined) return wanted ?? ofPrincipal ?? 'writer';
  const granted = own ?? ofPrincipal ?? (open ? 'writer' : undefined);
  if (granted === undefined) return undefined;
  return wanted && isRoleEnough(granted, wanted) ? wanted : granted;
}

/**
 * The role of a member when what its principal may has changed. One that is as high as the principal
 * had it follows; one that the agent chose, or was given itself, stays as far as it may.
 */
export function roleByPrincipal(member: Member, before: SessionMeta, now: SessionMeta): Role {
  const { agent_id: agentId, principal: principalId, role } = member;
  if (ownRole(now.access.agents, agentId) !== undefined) return role;
  const isFollowing = role === roleOnJoin(before, { agentId, principalId }, undefined);
  const wanted = isFollowing ? undefined : role;
  return roleOnJoin(now, { agentId, principalId }, wanted) ?? role;
}

export function ownRole(roles: Readonly<Record<string, Role>>, id: string): Role | undefined {
  return Object.hasOwn(roles, id) ? roles[id] : undefined;
}

/** All members of a session, and these entries. */
export async function readWithMembers(
  store: CoordinationStore,
  partition: string,
  keys: readonly string[],
): Promise<Snapshot> {
  const { entries } = await store.read(partition, [ROSTER]);
  const members = parseRoster(entries.get(ROSTER)?.value).map(keyOf.member);
  return await store.read(partition, [...keys, ...members]);
}

export async function readMembers(
  store: CoordinationStore,
  partition: string,
): Promise<readonly Member[]> {
  return membersIn(await readWithMembers(store, partition, []));
}

export async function membersAmong(
  store: CoordinationStore,
  sessionId: string,
  agentIds: readonly string[],
): Promise<readonly string[]> {
  const { entries } = await store.read(partitionOf.session(sessionId), agentIds.map(keyOf.member));
  return agentIds.filter((agentId) => entries.has(keyOf.member(agentId)));
}
