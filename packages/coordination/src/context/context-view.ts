import type { CoordinationStore, Snapshot } from '../coordination-store.ts';
import { HEAD, keyOf, toContextKey } from '../partitions.ts';
import type { ContextView } from './context-operations.ts';

export function contextKeys(keys: readonly string[]): readonly string[] {
  return keys.map(keyOf.context);
}

/** The context, or some keys of it. */
export async function readContext(
  store: CoordinationStore,
  partition: string,
  keys?: readonly string[],
): Promise<ContextView> {
  return toView(await store.read(partition, keys && [HEAD, ...contextKeys(keys)]));
}

/** What a snapshot of a session's partition says of the context. */
export function toView({ entries }: Snapshot): ContextView {
  const context = [...entries].flatMap(([name, entry]) => {
    const key = toContextKey(name);
    return key === undefined ? [] : [[key, entry] as const];
  });
  return { version: entries.get(HEAD)?.version ?? 0, entries: new Map(context) };
}
