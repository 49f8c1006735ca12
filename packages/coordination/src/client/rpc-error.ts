import { type ErrorCode, FabricError, isErrorCode } from '@starloom/core';

interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: { readonly [field: string]: unknown };
}

/** An error of the server; `details.rpc` is its JSON-RPC code, beside all that `data` says. */
export function fromRpcError({ code: rpc, message, data = {} }: WireError): FabricError {
  const { details: text, code, ...rest } = data;
  const fabric: ErrorCode = isErrorCode(code) ? code : 'UPSTREAM_ERROR';
  return new FabricError(fabric, typeof text === 'string' ? text : message, {
    details: { ...rest, rpc },
  });
}

export function rpcCodeOf(error: unknown): number | undefined {
  if (!FabricError.is(error)) return undefined;
  const { rpc } = error.details;
  return typeof rpc === 'number' ? rpc : undefined;
}
