import { failure } from '../reasons.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * How much of anything there may be. A caller that goes beyond gets -32016 with the limit's name.
 */
export const DEFAULT_LIMITS = {
  agents: 10_000,
  sessions_per_agent: 1_000,
  /** All that a principal has: its sessions with what is in them, its agents, caches and answers. */
  bytes_per_principal: 256 * MIB,
  sessions_per_principal: 10_000,
  agents_per_principal: 2_000,
  /** Agent ids that are the principal's, whether their agents are registered or not. */
  agent_ids_per_principal: 10_000,
  /** On one gateway. */
  subscriptions_per_principal: 20_000,
  waits_per_principal: 1_000,
  members_per_session: 1_000,
  context_keys: 10_000,
  context_bytes: 16 * MIB,
  value_bytes: MIB,
  metadata_bytes: 64 * KIB,
  locks_per_session: 10_000,
  /** Places in the queue of one lock. */
  waits_per_resource: 1_000,
  checkpoints_per_session: 100,
  subscriptions_per_connection: 1_000,
  /** How many events a live reader may lag before the server asks it to take a snapshot. */
  backlog_events: 1_000,
  /** A snapshot for reading old versions is kept every so many versions, this many at most. */
  snapshot_every: 1_000,
  snapshots_kept: 12,
  cache_entries: 10_000,
  cache_bytes: 64 * MIB,
  buffer_chunks: 10_000,
  buffer_bytes: 50 * MIB,
  chunk_bytes: 4 * MIB,
  batch_requests: 100,
  /** Answers to requests with an idempotency key that are kept for one principal. */
  idempotency_bytes: 128 * MIB,
  /** When the answers to a batch are more, the rest of it is not done. */
  batch_answer_bytes: 32 * MIB,
  /** How long an idle session lives when its creator says nothing. */
  session_ttl_ms: DAY_MS,
  /** How long the members of an ended session can still read how it ended. */
  ended_session_ms: MINUTE_MS,
  /** How long an agent that is gone keeps its name. */
  forget_agent_ms: 30 * DAY_MS,
} as const;

export type CoordinationLimits = { readonly [name in keyof typeof DEFAULT_LIMITS]: number };

export function assertSize(
  limit: keyof CoordinationLimits,
  bytes: number,
  limits: CoordinationLimits,
): void {
  const allowed = limits[limit];
  if (bytes > allowed) throw failure('quota/size', { limit, allowed, bytes });
}

/** There may be `count` of these, the new one included. */
export function assertCount(
  limit: keyof CoordinationLimits,
  count: number,
  limits: CoordinationLimits,
  fix?: string,
): void {
  const allowed = limits[limit];
  if (count > allowed) throw failure('quota', { limit, allowed, fix });
}
