import type { CoordinationStore } from '../coordination-store.ts';
import { keyOf, ROSTER } from '../partitions.ts';
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
