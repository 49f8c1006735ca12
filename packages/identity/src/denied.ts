import { FabricError } from '@starloom/core';

/** Why a caller was turned away. */
export type DenialReason =
  | 'missing'
  | 'malformed'
  | 'unsupported'
  | 'several_credentials'
  | 'credential_in_url'
  | 'unknown_key';

/** AUTH_DENIED in words that do not show the credential. */
export function denied(reason: DenialReason, message: string, fix: string): FabricError {
  return new FabricError('AUTH_DENIED', message, { details: { reason, fix } });
}
