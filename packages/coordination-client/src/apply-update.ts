import type { Json } from '@starloom/core';

/** A change of a context, as it is pushed. */
export interface ContextChange {
  readonly session_id: string;
  readonly agent_id: string;
  readonly op: string;
  /** New values by key; with the op `increment` the amounts that were added. */
  readonly update: Readonly<Record<string, Json>>;
  readonly removed?: readonly string[];
  readonly version: number;
  readonly cursor: number;
  readonly cause?: string;
  readonly trace_id?: string;
}

/** The context after a change; for a client that keeps a copy of it. */
export function applyUpdate(
  context: Readonly<Record<string, Json>>,
  { op, update, removed = [] }: Pick<ContextChange, 'op' | 'update' | 'removed'>,
): Record<string, Json> {
  const values = new Map(Object.entries(context));
  for (const [key, value] of Object.entries(update)) {
    const before = Number(values.get(key) ?? 0);
    values.set(key, op === 'increment' ? before + Number(value) : value);
  }
  for (const key of removed) values.delete(key);
  return Object.fromEntries(values);
}
