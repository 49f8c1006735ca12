import type { Fields } from '@starloom/core';
import type { RpcError } from './json-rpc.ts';

export type RpcAnswer = { readonly result: Fields } | { readonly error: RpcError };

/** What clients answer with when a person rejects sampling. */
export const REJECTION: RpcAnswer = { error: { code: -1, message: 'The request was declined' } };

/** For a question that no caller can answer. */
export function cancelAnswer(method: string): RpcAnswer {
  return method === 'elicitation/create' ? { result: { action: 'cancel' } } : REJECTION;
}
