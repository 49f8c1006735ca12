import type { FabricError, Json } from '@starloom/core';
import { refuse } from '../errors.ts';
import type { ContextView } from './context-operations.ts';

export function conflict(view: ContextView): FabricError {
  return refuse('conflict', `The context is not as expected: it is at version ${view.version}`, {
    current_version: view.version,
    current: valuesOf(view),
    current_versions: versionsOf(view),
    fix: 'read it, decide again, and send the version you read',
  });
}

export function fromTheFuture(version: number): FabricError {
  return refuse('cursor_from_the_future', `The session has only come to ${version}`, {
    current_version: version,
    fix: 'use a version or cursor that this session gave you',
  });
}

/** Of an increment that the store refused: a value is no number, or a sum would be too large. */
export function notANumber(view: ContextView): FabricError {
  const current = valuesOf(view);
  const other = Object.entries(current).find(([, value]) => typeof value !== 'number');
  if (other === undefined) {
    const message = 'A sum would not be exact: beyond 2^53 - 1, or as if nothing had been added';
    return refuse('not_a_number', message, {
      current,
      most: Number.MAX_SAFE_INTEGER,
      fix: 'begin another key, or keep larger numbers as text',
    });
  }
  const [key] = other;
  const fix = 'set the key to a number first';
  return refuse('not_a_number', `The value of "${key}" is not a number`, { key, current, fix });
}

export function tooBusy(sessionId: string, view: ContextView): FabricError {
  return refuse('conflict', 'Others change these keys all the time', {
    session_id: sessionId,
    current_version: view.version,
    current: valuesOf(view),
    fix: 'take the lock of the context first',
  });
}

export function valuesOf({ entries }: ContextView): Record<string, Json> {
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

export function versionsOf({ entries }: ContextView): Record<string, number> {
  return Object.fromEntries([...entries].map(([key, { version }]) => [key, version]));
}
