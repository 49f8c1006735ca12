import type { FabricError, Json } from '@starloom/core';
import { refuse } from '../errors.ts';
import type { ContextView } from './context-operations.ts';

export function conflict(view: ContextView): FabricError {
  return refuse('conflict', `The context has changed: it is at version ${view.version}`, {
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

export function notANumber(view: ContextView): FabricError {
  return refuse('not_a_number', 'Only numbers can be incremented, and not beyond all bounds', {
    current: valuesOf(view),
    fix: 'set the key to a number first',
  });
}

export function tooBusy(sessionId: string): FabricError {
  return refuse('conflict', 'Others change these keys all the time', {
    session_id: sessionId,
    fix: 'take the lock of the context first',
  });
}

export function valuesOf({ entries }: ContextView): Record<string, Json> {
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

export function versionsOf({ entries }: ContextView): Record<string, number> {
  return Object.fromEntries([...entries].map(([key, { version }]) => [key, version]));
}
