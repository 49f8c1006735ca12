import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client';
import { type ErrorCode, type ErrorDetails, FabricError } from '@starloom/core';
import { refusedFailure } from './http-failure.ts';

/** What says something of the agent itself, not of our handshake with it. */
const KEPT: ReadonlySet<ErrorCode> = new Set([
  'AGENT_OFFLINE',
  'AUTH_DENIED',
  'OVERLOADED',
  'POLICY_DENIED',
  'RATE_LIMITED',
  'UPSTREAM_ERROR',
]);

/**
 * Why no connection came about. Nothing of any call was sent, whatever it was. That the transport
 * is closed says nothing: the SDK closes it after every failure.
 */
export function connectFailure(error: unknown, transportFailure?: FabricError): FabricError {
  const broke = transportFailure?.details.reason === 'closed' ? undefined : transportFailure;
  const failure = broke ?? fromChain(error) ?? fromStatus(error);
  if (failure && KEPT.has(failure.code)) return failure.with({ sent: false });
  return new FabricError('UPSTREAM_ERROR', 'The agent and we found no common protocol', {
    details: {
      ...failure?.details,
      ...(error instanceof ProtocolError ? { rpc: rpcOf(error) } : {}),
      reason: 'handshake',
      fix: 'point the manifest at an MCP server',
      sent: false,
    },
    cause: error,
  });
}

export function connectTimeout(exactMs: number, upstream: ErrorDetails = {}): FabricError {
  const timeoutMs = Math.round(exactMs);
  return new FabricError('AGENT_OFFLINE', `The agent was not ready within ${timeoutMs} ms`, {
    details: {
      reason: 'connect_timeout',
      timeout_ms: timeoutMs,
      ...(Object.keys(upstream).length > 0 && { upstream }),
      fix: 'see the log of the agent, or raise options.connect_timeout_ms of the endpoint',
    },
  });
}

/** The SDK wraps what our transports throw. */
function fromChain(error: unknown): FabricError | undefined {
  for (let link = error; link instanceof Error; link = link.cause) {
    if (FabricError.is(link)) return link;
  }
  return undefined;
}

/** A refused probe loses its cause in the SDK, and keeps its status. */
function fromStatus(error: unknown): FabricError | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  const { status } = error;
  return refusedFailure({ status, headers: {}, text: '', rpc: undefined, inSession: false });
}

function rpcOf({ code, message, data }: ProtocolError) {
  return data === undefined ? { code, message } : { code, message, data };
}
