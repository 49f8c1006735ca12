import { isObject } from '@starloom/core';
import type { Load } from '../transports/backlog.ts';

/** Has a small answer. */
const ACQUIRE = 'memory_locker.acquire';
/** What any other may have to keep for a client that does not read, as a rule. */
const ANSWER_BYTES = 1 << 16;

/**
 * One request after the other, but one that asks to wait for its turn does not block other
 * requests; nor does a batch with such a request.
 */
export function mayWait(message: unknown): boolean {
  return Array.isArray(message) ? message.some(asksToWait) : asksToWait(message);
}

/** What it may hold while it is under way, with its answers. */
export function loadOfWait(message: unknown, bytes: number): Load {
  const requests = [message].flat();
  const large = requests.filter((request) => !isAcquire(request)).length;
  return { requests: requests.length, bytes: bytes + large * ANSWER_BYTES };
}

function isAcquire(request: unknown): boolean {
  return isObject(request) && 'method' in request && request.method === ACQUIRE;
}

function asksToWait(request: unknown): boolean {
  if (!isObject(request) || !('params' in request)) return false;
  return isObject(request.params) && 'wait_ms' in request.params;
}
