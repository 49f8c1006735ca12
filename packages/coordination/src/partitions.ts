// The partitions of the store. Entries that must change together are in one partition; indexes,
// bodies and histories have their own. Ids hold none of the
// characters that separate the parts of a name.

import { createHash } from 'node:crypto';
import type { Snapshot } from './coordination-store.ts';

/** Registered agents: a lease per agent, whose token is its epoch, and `agent/<id>`. */
export const AGENTS = 'agents';
/** Which principal each agent id belongs to. */
export const BINDINGS = 'bindings';
/** `open/<id>` for each session that has a partition, and `timer/<id>` while its time runs. */
export const SESSIONS = 'sessions';

export const partitionOf = {
  /** `meta`, `roster`, `member/<id>`, `head`, `c/<key>`, `checkpoint/<id>`; the log; the locks. */
  session: (sessionId: string) => `session:${sessionId}`,
  /** Snapshots of the context: `at/<version>`, `checkpoint/<id>`, and `snapshots`, their list. */
  history: (sessionId: string) => `history:${sessionId}`,
  /** The sessions of an agent, by id. */
  agent: (agentId: string) => `agent:${agentId}`,
  /** The sessions of a principal's agents, by session and agent; its log says when they change. */
  principal: (principalId: string) => `principal:${digest(principalId)}`,
  /** The agents that offer a capability, by id. */
  capability: (name: string) => `capability:${name}`,
  /** Records of chunks by hash, their uses and references; the bodies are apart. */
  chunks: (sessionId: string) => `chunks:${sessionId}`,
  chunkBodies: (sessionId: string) => `chunk-bodies:${sessionId}`,
  /** Results, generations and counts of one scope; `cacheIndex` says what is there. */
  cache: (scope: string) => `cache:${scope}`,
  cacheIndex: (scope: string) => `cache-index:${scope}`,
  /** What a principal has, for its budget: see `budgets.ts`. */
  budget: (principalId: string) => `budget:${digest(principalId)}`,
  idempotency: (principalId: string) => `idempotency:${digest(principalId)}`,
  /** What gateways share among themselves: see `toRealmStore`. */
  realm: (name: string) => `realm:${name}`,
} as const;

export const keyOf = {
  agent: (agentId: string) => `agent/${agentId}`,
  member: (agentId: string) => `member/${agentId}`,
  context: (key: string) => `c/${key}`,
  checkpoint: (checkpointId: string) => `checkpoint/${checkpointId}`,
  openSession: (sessionId: string) => `open/${sessionId}`,
  sessionTimer: (sessionId: string) => `timer/${sessionId}`,
} as const;

export const META = 'meta';
export const ROSTER = 'roster';
/** Written by every update of the context, so its version is the version of the context. */
export const HEAD = 'head';

/** For names that may hold any character. */
export function digest(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

/** What follows the prefix, of all keys that begin with it. */
export function idsIn({ entries }: Pick<Snapshot, 'entries'>, prefix: string): string[] {
  return [...entries.keys()]
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length));
}

const CONTEXT_PREFIX = keyOf.context('');

/** The context key that an entry of a session's partition holds, if it holds one. */
export function toContextKey(key: string): string | undefined {
  return key.startsWith(CONTEXT_PREFIX) ? key.slice(CONTEXT_PREFIX.length) : undefined;
}
