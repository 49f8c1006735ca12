// What the scripts answer, as the port says it.

import type {
  AcquireResult,
  CommitResult,
  Entry,
  EventPage,
  Lease,
  LockedCommitResult,
  ReleaseResult,
  Snapshot,
  StoredEvent,
  Waiting,
} from '../coordination-store.ts';

export type SnapshotReply = readonly [version: string, now: string, entries: readonly string[]];
export type EventsReply = readonly [
  version: string,
  trimmed: string,
  entries: readonly (readonly [id: string, fields: readonly string[]])[],
];
export type ListsReply = readonly [now: string, lists: readonly string[]];
type RefusalReply = readonly ['conflict' | 'not_a_number', number, ...string[]];
export type CommitReply =
  | readonly ['ok', number]
  | readonly ['fenced']
  | readonly ['reused']
  | RefusalReply;
export type LockedCommitReply =
  | readonly ['ok', number, string]
  | readonly ['reused']
  | readonly ['held', string]
  | RefusalReply;
export type AcquireReply =
  | readonly ['lease', string]
  | readonly ['held', string]
  | readonly ['queued', string, number]
  | readonly ['reused'];
export type ReleaseReply = readonly [released: number, ...granted: string[]];

export function toSnapshot([version, now, entries]: SnapshotReply): Snapshot {
  return { version: Number(version), entries: toEntries(entries, Number(now)) };
}

/** One more than asked for was read, to know whether there are more. */
export function toEventPage(reply: EventsReply, after: number, limit: number): EventPage {
  const [version, trimmed, entries] = reply;
  if (after > Number(version)) return { events: [], cursor: Number(version), gap: true };
  const events = entries.slice(0, limit).map(toStoredEvent);
  const isLast = entries.length <= limit;
  return {
    events,
    cursor: isLast ? Number(version) : (events.at(-1)?.version ?? after),
    gap: after < Number(trimmed),
  };
}

export function toCommitResult(reply: CommitReply): CommitResult {
  if (reply[0] === 'ok') return { ok: true, version: reply[1] };
  if (reply[0] === 'fenced' || reply[0] === 'reused') return { ok: false, reason: reply[0] };
  return toRefusal(reply);
}

export function toLockedCommitResult(reply: LockedCommitReply): LockedCommitResult {
  if (reply[0] === 'ok') return { ok: true, version: reply[1], token: Number(reply[2]) };
  if (reply[0] === 'reused') return { ok: false, reason: 'reused' };
  if (reply[0] === 'held') return { ok: false, reason: 'held', heldBy: JSON.parse(reply[1]) };
  return toRefusal(reply);
}

export function toAcquireResult(reply: AcquireReply): AcquireResult {
  switch (reply[0]) {
    case 'lease':
      return { lease: JSON.parse(reply[1]) };
    case 'held':
      return { heldBy: JSON.parse(reply[1]) };
    case 'reused':
      return { reused: true };
    case 'queued':
      return { queued: { ticket: reply[1], position: reply[2] } };
  }
}

export function toReleaseResult([released, ...granted]: ReleaseReply): ReleaseResult {
  return { released: released === 1, granted: granted.map((lease) => JSON.parse(lease)) };
}

export function toLeases([now, lists]: ListsReply): Lease[] {
  const leases = lists.flatMap((list): Lease[] => JSON.parse(list));
  return leases.filter(({ expiresAt }) => expiresAt > Number(now));
}

export function toWaiting([now, lists]: ListsReply): Waiting[] {
  return lists.flatMap((list) => {
    const places: (Waiting & { ttlMs: number })[] = JSON.parse(list);
    return places
      .filter(({ until }) => until > Number(now))
      .map(({ ttlMs: _, ...place }, index) => ({ ...place, position: index + 1 }));
  });
}

function toRefusal([reason, version, ...entries]: RefusalReply) {
  return { ok: false, reason, current: { version, entries: toEntries(entries, 0) } } as const;
}

function toEntries(flat: readonly string[], now: number): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (let index = 0; index < flat.length; index += 2) {
    const entry = toEntry(flat[index + 1] ?? '', now);
    if (entry !== undefined) entries.set(flat[index] ?? '', entry);
  }
  return entries;
}

/** `<version> <expires at, or 0> <json>`, unless its time is over. */
function toEntry(text: string, now: number): Entry | undefined {
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  const expiresAt = Number(text.slice(first + 1, second));
  if (expiresAt !== 0 && expiresAt <= now) return undefined;
  return { value: JSON.parse(text.slice(second + 1)), version: Number(text.slice(0, first)) };
}

function toStoredEvent([id, fields]: EventsReply[2][number]): StoredEvent {
  const version = Number(id.slice(id.indexOf('-') + 1));
  const json = fields[3] ?? 'null';
  return { version, at: Number(fields[1]), event: JSON.parse(json), size: json.length };
}
