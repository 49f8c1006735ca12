import { FabricError, isErrorCode } from '@starloom/core';
import { isObject } from './json-rpc.ts';

const MAX_TEXT = 2048;

/**
 * The failure another Starloom reported, or `undefined` when the value is no payload of ours. Its
 * code and details are kept, except `sent`: what its own agents saw says nothing of this call.
 */
export function fromErrorPayload(value: unknown): FabricError | undefined {
  if (!isObject(value) || value.ok !== false || !isObject(value.error)) return undefined;
  const { code, message, details } = value.error;
  if (!isErrorCode(code)) return undefined;
  const { sent: _, ...kept } = isObject(details) ? details : {};
  return new FabricError(code, typeof message === 'string' ? bounded(message) : code, {
    details: { upstream: { code }, ...kept },
  });
}

export function bounded(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
