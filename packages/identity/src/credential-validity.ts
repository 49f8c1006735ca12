import type { Clock } from '@starloom/core';
import type { KeyRing } from './keys/key-ring.ts';
import type { OauthVerifier } from './oauth/oauth-verifier.ts';
import { type Delegation, isMandated, type Principal } from './principal.ts';
import type { EndedMandates } from './realm/ended-mandates.ts';
import { failure } from './reasons.ts';
import type { Mint } from './tokens/mint.ts';
import type { Revocations } from './tokens/revocations.ts';
import type { SigningKeys } from './tokens/signing-keys.ts';

export interface CredentialParts {
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly signing: SigningKeys;
  readonly revocations: Revocations;
  readonly mint: Mint;
  readonly ended: EndedMandates | undefined;
  readonly oauth: OauthVerifier | undefined;
}

/** Whether credentials that were verified once still hold. */
export class CredentialValidity {
  readonly #options: CredentialParts;

  constructor(options: CredentialParts) {
    this.#options = options;
  }

  readonly isCurrent = (principal: Principal): boolean => {
    const { clock, keys, oauth } = this.#options;
    const { expiresAt, mode, keyId, delegation } = principal;
    const now = clock.now();
    if (expiresAt !== undefined && expiresAt <= now) return false;
    if (delegation) return this.#isDelegated(principal, delegation);
    if (mode === 'psk') return keyId !== null && (keys.validUntil.get(keyId) ?? 0) > now;
    return oauth?.isCurrent(principal) ?? true;
  };

  readonly isRevoked = ({ mode, keyId, delegation }: Principal): boolean => {
    const { keys, revocations } = this.#options;
    if (!delegation) return mode === 'psk' && keyId !== null && keys.isRevoked(keyId);
    const grant = keyOfGrant(delegation);
    if (grant !== undefined && keys.isRevoked(grant)) return true;
    return revocations.reasonAgainst(delegation) !== undefined;
  };

  assertCurrent(principal: Principal): Principal {
    if (this.isCurrent(principal)) return principal;
    const { expiresAt = 0 } = principal;
    throw failure(expiresAt <= this.#options.clock.now() ? 'expired' : 'revoked');
  }

  /** Whether the call of a mandate has ended. */
  isOver(jti: string): boolean {
    const { mint, ended } = this.#options;
    return mint.isOwn(jti) ? mint.isOver(jti) : ended?.isAccepted(jti) === false;
  }

  #isDelegated(principal: Principal, delegation: Delegation): boolean {
    const { keys, revocations, signing } = this.#options;
    const { keyId } = principal;
    if (keyId !== null && !signing.isPublished(keyId)) return false;
    if (isMandated(principal) && this.isOver(delegation.tokenId)) return false;
    // A mandate of a caller with a key lives no longer than that key.
    const grant = keyOfGrant(delegation);
    const isGranted = grant === undefined || keys.isLive(grant);
    return isGranted && !revocations.reasonAgainst(delegation);
  }
}

/** The key that a mandate goes back to, where its caller came with one. */
function keyOfGrant({ mandateId }: Delegation): string | undefined {
  return /^key:(.+)$/.exec(mandateId)?.[1];
}
