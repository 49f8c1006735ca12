import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { bounded, FabricError, fromErrorPayload } from '@starloom/core';

/** Why a server could not be started or reached. Nothing of any call was sent. */
export function connectFailure(
  server: string,
  error: unknown,
  transportFailure: FabricError | undefined,
): FabricError {
  const failure = transportFailure ?? known(error);
  if (failure) return failure.with({ server });
  return new FabricError('UPSTREAM_ERROR', `"${server}" and we found no common protocol`, {
    details: { reason: 'handshake', server, fix: 'name an MCP server in agent.toml' },
    cause: error,
  });
}

/** Why a call of a tool has no result. */
export function callFailure(
  server: string,
  error: unknown,
  transportFailure: FabricError | undefined,
): FabricError {
  if (error instanceof ProtocolError) return protocolFailure(server, error);
  const failure = known(error);
  if (failure && failure.code !== 'CANCELLED') return failure.with({ server });
  if (transportFailure) return transportFailure.with({ server });
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) {
    return offline(server, 'closed', error);
  }
  return new FabricError('UPSTREAM_ERROR', `"${server}" did not answer as MCP servers do`, {
    details: { reason: 'bad_answer', server },
    cause: error,
  });
}

/** The connection is of no more use: a server over HTTP that is gone, or forgot our session. */
export function isLost(error: unknown): boolean {
  return isForgotten(error) || networkCode(error) !== undefined;
}

/** It does not know our session any more, and has not looked at the call. */
export function isForgotten(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** An error of another Starloom keeps its code and details. */
function protocolFailure(server: string, error: ProtocolError): FabricError {
  const ours = fromErrorPayload(error.data);
  if (ours) return ours.with({ server });
  const isOurFault = error.code === -32602 || error.code === -32601;
  return new FabricError(isOurFault ? 'BAD_INPUT' : 'UPSTREAM_ERROR', bounded(error.message), {
    details: { reason: 'rpc_error', server, rpc_code: error.code },
    cause: error,
  });
}

function known(error: unknown): FabricError | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    if (FabricError.is(link)) return link;
  }
  if (error instanceof SdkHttpError) return statusFailure(error);
  const code = networkCode(error);
  if (code !== undefined) return offline(undefined, code, error);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return new FabricError('AGENT_OFFLINE', 'The MCP server did not answer in time', {
      details: { reason: 'connect_timeout', fix: 'see whether it runs' },
      cause: error,
    });
  }
  return undefined;
}

function statusFailure(error: SdkHttpError): FabricError {
  const { status } = error;
  const isRefusal = status === 401 || status === 403;
  return new FabricError(
    isRefusal ? 'AUTH_DENIED' : 'UPSTREAM_ERROR',
    `The MCP server answered with HTTP status ${status}`,
    {
      details: {
        reason: 'http_status',
        status,
        fix: isRefusal ? 'set "headers" of the server in agent.toml' : 'see its log',
      },
      cause: error,
    },
  );
}

/** `fetch` hides in the cause why it did not get through. */
function networkCode(error: unknown): string | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    const code = 'code' in link ? String(link.code) : '';
    if (/^(?:E[A-Z0-9]+|EAI_[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)) return code;
  }
  return undefined;
}

function offline(server: string | undefined, reason: string, cause: unknown): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The MCP server cannot be reached', {
    details: { reason, ...(server !== undefined && { server }), fix: 'see whether it runs' },
    cause,
  });
}
