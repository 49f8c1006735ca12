// The failure payload of Starloom inside MCP: written by our server, understood by our client, so
// that a code keeps its meaning however many agents it passes.

import { FabricError, isErrorCode } from '@starloom/core';
import { isObject } from './json.ts';

/** Of a result's `_meta`. */
export const ERROR_KEY = 'io.starloom/error';

const MAX_TEXT = 2_048;

/** `undefined` when the value is no payload of ours. */
export function fromErrorPayload(value: unknown): FabricError | undefined {
  if (!isObject(value) || value.ok !== false || !isObject(value.error)) return undefined;
  const { code, message, details } = value.error;
  if (!isErrorCode(code)) return undefined;
  const text = typeof message === 'string' ? message.slice(0, MAX_TEXT) : code;
  return new FabricError(code, text, {
    details: { ...(isObject(details) ? details : {}), upstream: true },
  });
}

/** The same from the JSON text in which the payload is repeated for clients that know no `_meta`. */
export function fromErrorText(text: string): FabricError | undefined {
  if (!text.startsWith('{"ok":false')) return undefined;
  try {
    return fromErrorPayload(JSON.parse(text));
  } catch {
    return undefined;
  }
}
