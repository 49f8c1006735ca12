import type { CoordinationStore } from '../coordination-store.ts';
import { keyOf, partitionOf, ROSTER } from '../partitions.ts';
import { type Member, memberSchema, parseRoster } from './session-record.ts';

/** All members of a session. */
export async function readMembers(
  store: CoordinationStore,
  partition: string,
): Promise<readonly Member[]> {
  const { entries } = await store.read(partition, [ROSTER]);
  const keys = parseRoster(entries.get(ROSTER)?.value).map(keyOf.member);
  if (keys.length === 0) return [];
  const snapshot = await store.read(partition, keys);
  return [...snapshot.entries.values()].map(({ value }) => memberSchema.parse(value));
}

/** Those of the agents that are members of the session. */
export async function membersAmong(
  store: CoordinationStore,
  sessionId: string,
  agentIds: readonly string[],
): Promise<readonly string[]> {
  const { entries } = await store.read(partitionOf.session(sessionId), agentIds.map(keyOf.member));
  return agentIds.filter((agentId) => entries.has(keyOf.member(agentId)));
}
