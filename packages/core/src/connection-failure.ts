// The one table from errors of sockets to our codes, for every protocol that uses one.

import { type ErrorDetails, FabricError } from './errors.ts';

export interface ConnectionProgress {
  /** Whether the request may have reached the agent, in whole or in part. */
  readonly sent: boolean;
  /** Whether a part of the answer came. */
  readonly answered: boolean;
}

const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'refused',
  'unknown_host',
  'connect_timeout',
  'tls',
  'unreachable',
]);

/** A failure of the connection, by how far the exchange had come. */
export function connectionFailure(
  cause: Error,
  { sent, answered }: ConnectionProgress,
): FabricError {
  if (FabricError.is(cause)) return sent ? cause : cause.with({ sent: false });
  const code = socketErrorCode(cause) ?? cause.name;
  const unsent = sent ? {} : { sent: false };
  if (code === 'UND_ERR_INVALID_ARG') {
    return new FabricError('INTERNAL', 'The request could not be made', { details: unsent, cause });
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    const details = { reason: 'closed', ...unsent };
    return error('AGENT_OFFLINE', 'The connection to the agent was closed', details, cause);
  }
  if (!sent) {
    const details = { sent: false, reason: unreachableReason(cause), cause: code, fix: START_IT };
    const message = `The agent is unreachable: ${CAUSES[code] ?? code}`;
    return error('AGENT_OFFLINE', message, details, cause);
  }
  if (cause.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') {
    const details = { reason: 'invalid_http', fix: 'let the agent answer in HTTP/1.1' };
    return error('UPSTREAM_ERROR', 'The agent does not answer in HTTP', details, cause);
  }
  const details = { reason: 'connection_lost', cause: code, fix: 'see the log of the agent' };
  return answered
    ? error('UPSTREAM_ERROR', 'The agent went away before its answer ended', details, cause)
    : error('AGENT_OFFLINE', 'The agent went away without an answer', details, cause);
}

/** Whether the agent was not there at all, or is no more. */
export function isAway({ code, details }: FabricError): boolean {
  if (details.reason === 'connection_lost' || details.reason === 'agent_unavailable') return true;
  return code === 'AGENT_OFFLINE' && UNREACHABLE.has(details.reason);
}

/** Why no connection came about, as `details.reason`. */
export function unreachableReason(cause: unknown): string {
  const code = socketErrorCode(cause) ?? '';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  return /CERT|TLS|SSL/.test(code) ? 'tls' : 'unreachable';
}

/** The code of an error, or of what caused it; of several attempts, that of the first. */
export function socketErrorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const [first] = thrown instanceof AggregateError ? thrown.errors : [];
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return socketErrorCode(first ?? thrown.cause);
}

/** What the codes of sockets mean, where people meet them. */
const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be looked up',
  UND_ERR_CONNECT_TIMEOUT: 'its address does not answer',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
};

const START_IT = 'start the agent, or correct endpoint.uri of its manifest';

function error(
  code: 'AGENT_OFFLINE' | 'UPSTREAM_ERROR',
  message: string,
  details: ErrorDetails,
  cause: Error,
): FabricError {
  return new FabricError(code, message, { details, cause });
}
