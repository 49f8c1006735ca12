import type { Auth, TrustTier } from '@starloom/core';

export type AuthMode = Auth['mode'];

/** Who calls, as far as this process has verified it. */
export interface Principal {
  readonly id: string;
  readonly mode: AuthMode;
  readonly tier: TrustTier;
  /** What the caller may do; `*` is everything. */
  readonly scopes: readonly string[];
  /** Which of its keys it used; `null` when it needed none. */
  readonly keyId: string | null;
}

/** A caller on the same machine and under the same user: its end of a pipe proves that. */
export const LOCAL_PRINCIPAL: Principal = Object.freeze({
  id: 'local',
  mode: 'none',
  tier: 'local',
  scopes: Object.freeze(['*']),
  keyId: null,
});

/** A caller without credentials, where the configuration lets it in: on loopback only. */
export const ANONYMOUS_PRINCIPAL: Principal = Object.freeze({
  ...LOCAL_PRINCIPAL,
  id: 'anonymous',
});

/** The `auth` part of the envelope of a call by this principal. */
export function toAuth({ id, mode, tier, scopes, keyId }: Principal): Auth {
  return {
    mode,
    principal_id: id,
    agent_passport_id: null,
    signature: null,
    key_id: keyId,
    delegate_id: null,
    mandate_id: null,
    cog_id: null,
    tier,
    cap: [],
    scp: [...scopes],
  };
}
