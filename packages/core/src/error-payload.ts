// The failure payload as others send it: the one reader, beside `FabricError.toPayload`, the one writer.

import { type ErrorPayload, FabricError, isErrorCode } from './errors.ts';
import { isObject, toFields } from './json.ts';

/** The key of `_meta`, and of metadata of other protocols, that carries an error payload. */
export const ERROR_META_KEY = 'io.starloom/error';

const MAX_TEXT = 2048;

/**
 * What a payload says, or `undefined` when the value is none of ours. Its details are kept, except
 * `sent`: what the agents of another gateway saw says nothing of this call.
 */
export function parseErrorPayload(value: unknown): ErrorPayload['error'] | undefined {
  if (!isObject(value) || value.ok !== false || !isObject(value.error)) return undefined;
  const { code, message, details } = value.error;
  if (!isErrorCode(code)) return undefined;
  const { sent: _, ...kept } = toFields(details);
  return { code, message: typeof message === 'string' ? bounded(message) : code, details: kept };
}

/** The failure another Starloom reported, or `undefined` when the value is no payload of ours. */
export function fromErrorPayload(value: unknown): FabricError | undefined {
  const reported = parseErrorPayload(value);
  if (!reported) return undefined;
  const { code, message, details } = reported;
  return new FabricError(code, message, { details: { upstream: { code }, ...details } });
}

/** The same from JSON text, as far as it is a payload. */
export function fromErrorText(text: string): FabricError | undefined {
  if (!text.startsWith('{"ok":false')) return undefined;
  try {
    return fromErrorPayload(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Text of others, short enough for messages and logs. */
export function bounded(text: string, length: number = MAX_TEXT): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`.toWellFormed();
}
