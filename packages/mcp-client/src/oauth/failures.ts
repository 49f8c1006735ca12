// What goes wrong with tokens, as failures of ours. None of these requests is a call of the agent,
// so nothing of a call was sent. Texts of the authorization server may hold secrets: only the code
// that it gave is kept.

import {
  OAuthClientFlowError,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client';
import { FabricError } from '@starloom/core';
import { failure } from '../reasons.ts';

/** A code as RFC 6749 writes it; anything else is not repeated. */
const CODE = /^[a-z_]{1,64}$/;

export function loginCommand(agentId: string, scope?: string): string {
  const more = scope === undefined ? '' : ` --scope '${scope}'`;
  return `starloom agents login ${agentId}${more}`;
}

/** Why there is no token. `fix` is for what the authorization server refused. */
export function tokenFailure(error: unknown, fix: string): FabricError {
  if (FabricError.is(error)) return error.with({ sent: false });
  if (error instanceof OAuthError && !isServerTrouble(error.code)) {
    const code = CODE.test(error.code) ? error.code : 'invalid_request';
    return failure('token_refused', { oauth_error: code, fix });
  }
  if (error instanceof RegistrationRejectedError) {
    return failure('registration_refused', { status: error.status });
  }
  if (error instanceof OAuthClientFlowError) {
    return failure('authorization_server/untrusted', { problem: error.name });
  }
  if (isUnreachable(error)) return serverAway(error);
  return failure('authorization_server');
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
  return failure('authorization_server_away');
}
