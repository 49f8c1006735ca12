// Names of keys. Partitions are spread over buckets, and the hash tag is the bucket: a partition
// lives in one slot of a cluster together with the index of what is due in its bucket, so that one
// script may change both. The kind comes before the partition, whose name may be any text.

const PREFIX = 'starloom:coordination:';
export const BUCKETS = 16;

export type KeyKind = 'm' | 'd' | 'e' | 'l' | 'q';

/** What all keys of a bucket begin with. */
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
