import { type ErrorDetails, FabricError } from '@starloom/core';
import { errors } from 'undici';

export interface TransportState {
  /** Whether the request may have reached the agent, in whole or in part. */
  readonly sent: boolean;
  /** Whether the head of an answer came. */
  readonly answered: boolean;
}

/** A failure of the connection, by how far the exchange had come. */
export function transportError(cause: Error, { sent, answered }: TransportState): FabricError {
  if (FabricError.is(cause)) return sent ? cause : cause.with({ sent: false });
  if (!sent) {
    const details = { sent: false, reason: unreachableReason(cause), fix: CHECK_ADDRESS };
    return error('AGENT_OFFLINE', 'The agent cannot be reached', details, cause);
  }
  if (cause instanceof errors.HTTPParserError || cause instanceof errors.HeadersOverflowError) {
    const details = { reason: 'invalid_http', fix: 'let the agent answer in HTTP/1.1' };
    return error('UPSTREAM_ERROR', 'The agent does not answer in HTTP', details, cause);
  }
  const details = { reason: 'connection_lost', fix: 'see the log of the agent' };
  return answered
    ? error('UPSTREAM_ERROR', 'The agent went away before its answer ended', details, cause)
    : error('AGENT_OFFLINE', 'The agent went away without an answer', details, cause);
}

const CHECK_ADDRESS = 'check that the agent runs at the address of its manifest';

function unreachableReason(cause: Error): string {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  return /CERT|TLS|SSL/.test(code) ? 'tls' : 'unreachable';
}

function error(
  code: 'AGENT_OFFLINE' | 'UPSTREAM_ERROR',
  message: string,
  details: ErrorDetails,
  cause: Error,
): FabricError {
  return new FabricError(code, message, { details, cause });
}
