import type { JournalRecord } from '../engine/machine-store.ts';

/** As one line of JSON. Maps of a commit become lists; all else is JSON already. */
export function encodeRecord({ partition, now, operation, args }: JournalRecord): string {
  return JSON.stringify([partition, now, operation, ...args.map(withoutMaps)]);
}

export function decodeRecord(text: string): JournalRecord {
  const [partition, now, operation, ...args] = JSON.parse(text);
  return { partition, now, operation, args: args.map(withMaps) };
}

function withoutMaps(arg: unknown): unknown {
  if (!hasKeyVersions(arg)) return arg;
  return { ...arg, ifKeys: arg.ifKeys && [...arg.ifKeys] };
}

function withMaps(arg: unknown): unknown {
  if (!hasKeyVersions(arg)) return arg;
  return { ...arg, ifKeys: new Map(arg.ifKeys) };
}

function hasKeyVersions(arg: unknown): arg is { ifKeys?: Iterable<[string, number]> } {
  return typeof arg === 'object' && arg !== null && 'ifKeys' in arg;
}
