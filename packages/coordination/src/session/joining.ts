import type { Caller } from '../agents/caller.ts';
import type { Commit, Entry, Snapshot } from '../coordination-store.ts';
import { notFound } from '../errors.ts';
import { keyOf, META, ROSTER } from '../partitions.ts';
import { assertCount } from '../quota/assert-quota.ts';
import type { CoordinationLimits } from '../quota/limits.ts';
import {
  type Member,
  memberSchema,
  metaSchema,
  parseRoster,
  type Role,
  roleOnJoin,
} from './session-record.ts';

/** As what the caller joins; a session it may not join does not exist for it. */
export function roleFor(
  { entries }: Snapshot,
  caller: Caller,
  sessionId: string,
  wanted: Role | undefined,
): Role {
  const entry = entries.get(META);
  const meta = entry && metaSchema.parse(entry.value);
  const known = entries.get(keyOf.member(caller.agentId));
  const member = known && memberSchema.parse(known.value);
  if (meta === undefined || meta.state === 'ended') throw notFound('session', sessionId);
  if (member?.principal === caller.principalId && wanted === undefined) return member.role;
  const role = roleOnJoin(meta, caller, wanted);
  if (role === undefined) throw notFound('session', sessionId);
  return role;
}

/** Is the member already in the session as it would be after joining? */
export function isSameMember({ value }: Entry, { role, epoch, principal }: Member): boolean {
  const before = memberSchema.parse(value);
  const isSameLife = before.epoch === epoch && before.connected;
  return isSameLife && before.role === role && before.principal === principal;
}

/** Member, roster and notice in one, on the session as the snapshot has it. */
export function toJoining(
  { entries }: Snapshot,
  member: Member,
  limits: CoordinationLimits,
): Commit {
  const { agent_id, role, epoch } = member;
  const key = keyOf.member(agent_id);
  const roster = parseRoster(entries.get(ROSTER)?.value);
  const ids = roster.includes(agent_id) ? roster : [...roster, agent_id];
  assertCount('members_per_session', ids.length, limits);
  const readKeys = [META, ROSTER, key];
  return {
    writes: [
      { kind: 'put', key, value: member },
      { kind: 'put', key: ROSTER, value: ids },
    ],
    event: { type: 'session.agent_joined', agent_id, role, epoch },
    ifKeys: new Map(readKeys.map((name) => [name, entries.get(name)?.version ?? 0])),
  };
}
