// What goes wrong with tokens, as failures of ours. None of these requests is a call of the agent,
// so nothing of a call was sent. Texts of the authorization server may hold secrets: only the code
// that it gave is kept.

import {
  OAuthClientFlowError,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client';
import { type ErrorDetails, FabricError } from '@starloom/core';

/** A code as RFC 6749 writes it; anything else is not repeated. */
const CODE = /^[a-z_]{1,64}$/;

export function loginCommand(agentId: string, scope?: string): string {
  const more = scope === undefined ? '' : ` --scope '${scope}'`;
  return `starloom agents login ${agentId}${more}`;
}

export function tokenDenied(reason: string, message: string, details: ErrorDetails): FabricError {
  return new FabricError('AUTH_DENIED', message, { details: { ...details, reason, sent: false } });
}

/** Why there is no token. `fix` is for what the authorization server refused. */
export function tokenFailure(error: unknown, fix: string): FabricError {
  if (FabricError.is(error)) return error.with({ sent: false });
  if (error instanceof OAuthError && !isServerTrouble(error.code)) {
    const code = CODE.test(error.code) ? error.code : 'invalid_request';
    return tokenDenied('token_refused', 'The authorization server gave no token', {
      oauth_error: code,
      fix,
    });
  }
  if (error instanceof RegistrationRejectedError) {
    return tokenDenied('registration_refused', 'The authorization server registers no gateway', {
      status: error.status,
      fix: 'register the gateway there, and set oauth.client_id in endpoint.options',
    });
  }
  if (error instanceof OAuthClientFlowError) {
    return tokenDenied('authorization_server', 'The authorization server cannot be trusted', {
      problem: error.name,
      fix: 'check oauth.issuer in endpoint.options of the agent',
    });
  }
  if (isUnreachable(error)) return serverAway(error);
  return new FabricError('UPSTREAM_ERROR', 'The authorization server did not answer properly', {
    details: { reason: 'authorization_server', sent: false, fix: 'see the log of that server' },
  });
}

function isServerTrouble(code: string): boolean {
  return code === 'server_error' || code === 'temporarily_unavailable';
}

/** Of `fetch`: a connection that failed is a TypeError, the time limit a TimeoutError. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError');
}

function serverAway(error: unknown): FabricError {
  const cause = (error as { cause?: unknown }).cause;
  if (FabricError.is(cause)) return cause.with({ sent: false });
  return new FabricError('AGENT_OFFLINE', 'The authorization server of the agent is unreachable', {
    details: {
      reason: 'authorization_server_away',
      sent: false,
      fix: 'start the authorization server, or correct oauth.issuer in endpoint.options',
    },
  });
}
