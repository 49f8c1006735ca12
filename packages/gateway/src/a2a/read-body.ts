import { a2aError } from './failures.ts';

/** A document of the protocol from JSON; INVALID_PARAMS when it cannot be read as one. */
export function readBody<Type>(type: { fromJSON(object: unknown): Type }, body: unknown): Type {
  try {
    return type.fromJSON(body ?? {});
  } catch {
    throw a2aError('INVALID_PARAMS', 'The body cannot be read as the operation wants it');
  }
}
