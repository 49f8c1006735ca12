import { type ErrorCode, FabricError, isErrorCode, toFields } from '@starloom/core';

/** An error of the server; `details.rpc` is its JSON-RPC code, beside all that `data` says. */
export function fromRpcError(error: unknown): FabricError {
  const { code: rpc, message, data } = toFields(error);
  const { details: text, code, ...rest } = toFields(data);
  const fabric: ErrorCode = isErrorCode(code) ? code : 'UPSTREAM_ERROR';
  const said = [text, message].find((each) => typeof each === 'string');
  return new FabricError(fabric, String(said ?? 'The gateway refused it, and does not say why'), {
    details: { ...rest, ...(typeof rpc === 'number' && { rpc }) },
  });
}

export function rpcCodeOf(error: unknown): number | undefined {
  if (!FabricError.is(error)) return undefined;
  const { rpc } = error.details;
  return typeof rpc === 'number' ? rpc : undefined;
}
