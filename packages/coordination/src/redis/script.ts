import { createHash } from 'node:crypto';
import type { RedisConnection } from './connection.ts';
import { ACQUIRE_AND_COMMIT, COMMIT } from './lua/commit.ts';
import { ACQUIRE, BREAK_LEASE, CANCEL_WAIT, DROP, RELEASE, RENEW, TICK } from './lua/leases.ts';
import { EVENTS, LISTS, READ_ALL, READ_KEYS, RESUME } from './lua/reads.ts';

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export type Scripts = ReturnType<typeof createScripts>;

/** `timeKey` names a string with the time to live by; without it, that is the server's. */
export function createScripts(timeKey?: string) {
  const now =
    timeKey === undefined
      ? 'tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)'
      : `tonumber(redis.call('GET', ${JSON.stringify(timeKey)}))`;
  const script = (template: string) => toScript(template.replace('NOW()', now));
  return {
    commit: script(COMMIT),
    acquireAndCommit: script(ACQUIRE_AND_COMMIT),
    acquire: script(ACQUIRE),
    renew: script(RENEW),
    release: script(RELEASE),
    breakLease: script(BREAK_LEASE),
    cancelWait: script(CANCEL_WAIT),
    drop: script(DROP),
    tick: script(TICK),
    readAll: script(READ_ALL),
    readKeys: script(READ_KEYS),
    events: script(EVENTS),
    lists: script(LISTS),
    resume: script(RESUME),
  };
}

/** By its hash; Redis gets the text only when it does not know it (any more). */
export async function runScript<Reply>(
  connection: RedisConnection,
  { source, sha1 }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<Reply> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await connection.send<Reply>(['EVALSHA', sha1, ...rest]);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return connection.send<Reply>(['EVAL', source, ...rest]);
  }
}

function toScript(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

// Names of keys. Partitions are spread over buckets, and the hash tag is the bucket: a partition
// lives in one slot of a cluster together with the index of what is due in its bucket, so that one
// script may change both. The kind comes before the partition, whose name may be any text.

const PREFIX = 'starloom:coordination:';
export const BUCKETS = 16;

export type KeyKind = 'm' | 'd' | 'e' | 'l' | 'q';

export function bucketBase(bucket: number): string {
  return `${PREFIX}{${bucket}}:`;
}

export function baseOf(partition: string): string {
  return bucketBase(hash(partition) % BUCKETS);
}

/** See lua/partition.ts on what is where. */
export function keyOf(kind: KeyKind, partition: string): string {
  return `${baseOf(partition)}${kind}:${partition}`;
}

export function answerKey(partition: string, operation: string, idempotencyKey: string): string {
  return `${baseOf(partition)}a:${partition.length}:${partition}:${operation}:${idempotencyKey}`;
}

/** A stream of one process, to interrupt its own blocking read with. */
export function wakeKey(id: string): string {
  return `${PREFIX}wake:${id}`;
}

/** FNV-1a. */
function hash(text: string): number {
  let result = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    result = Math.imul(result ^ text.charCodeAt(index), 0x01000193);
  }
  return result >>> 0;
}
