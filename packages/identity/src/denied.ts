import { FabricError } from '@starloom/core';

/** Why a caller was turned away. */
export type DenialReason =
  | 'missing'
  | 'malformed'
  | 'unsupported'
  | 'several_credentials'
  | 'credential_in_url'
  | 'unknown_key'
  | 'unknown_certificate'
  /** Of passports, mandates and access tokens. */
  | 'wrong_type'
  | 'unknown_signer'
  | 'issuer_unavailable'
  | 'bad_signature'
  | 'wrong_issuer'
  | 'wrong_audience'
  | 'bad_claims'
  | 'not_yet_valid'
  | 'expired'
  | 'lives_too_long'
  | 'bound_to_key'
  | 'revoked'
  | 'suspended'
  | 'replayed'
  | 'broken_chain'
  | 'wider_than_parent'
  | 'too_deep';

/** AUTH_DENIED in words that do not show the credential. */
export function denied(reason: DenialReason, message: string, fix: string): FabricError {
  return new FabricError('AUTH_DENIED', message, { details: { reason, fix } });
}
