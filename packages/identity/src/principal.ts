import type { Auth, TrustTier } from '@starloom/core';
import type { PolicyCall, RecordedFacts } from './policy/facts.ts';

/** Who calls, as far as this process has verified it. */
export interface Principal {
  /** Who owns what the caller makes: jobs, conversations, sessions. */
  readonly id: string;
  readonly mode: Auth['mode'];
  readonly tier: TrustTier;
  /** What the caller may do; `*` is everything. */
  readonly scopes: readonly string[];
  /** Which of its keys it used; `null` when it needed none. */
  readonly keyId: string | null;
  /** In milliseconds; from then on it is not served any more. */
  readonly expiresAt?: number;
  /** SHA-256 of the client certificate that its token is bound to, base64url (`x5t#S256`). */
  readonly boundTo?: string;
  /** Who acts for the principal, as a passport or a mandate says. */
  readonly delegation?: Delegation;
}

/** From a verified passport or mandate. JSON, since it is stored with jobs. */
export interface Delegation {
  /** On whose behalf (`prn`); the same along a chain. */
  readonly principalId: string;
  /** Who acts for the principal (claim `sub`); of a mandate the agent that it was minted for. */
  readonly delegateId: string;
  /** Under which grant (`mnd`). */
  readonly mandateId: string;
  readonly passportId: string | null;
  /** Which running instance acts (`cog`). */
  readonly cogId: string;
  /** What it may call, as `agent/capability` globs (`cap`). */
  readonly cap: readonly string[];
  /** Everything else it may use (`scp`). */
  readonly scp: readonly string[];
  /** Revocations up to this number were known when the credential was made (`epo`). */
  readonly epoch: number;
  /** Mandates above the next one; 0 for a passport. */
  readonly depth: number;
  readonly maxDepth: number;
  /** SHA-256 of the credential, base64url (`pah` of the next mandate). */
  readonly tokenHash: string;
  /** Of the credential itself. */
  readonly tokenId: string;
  /** Of a mandate: when the credential at the root expires, in milliseconds; absent where it does not. */
  readonly rootExpiresAt?: number | undefined;
  /** The trace of a mandate, which its bearer cannot leave. */
  readonly traceId?: string | undefined;
  readonly budget?: { readonly calls: number; readonly ms: number } | undefined;
  /** Who acted before (`act`), the last one first. */
  readonly actors: readonly Actor[];
}

export interface Actor {
  readonly sub: string;
  readonly cog: string;
}

/** On whose behalf a call is made: traces and budgets belong to it. */
export function onBehalfOf({ id, delegation }: Principal): string {
  return delegation?.principalId ?? id;
}

/** Whether the caller is an agent that acts by the mandate of its call. */
export function isMandated({ delegation }: Principal): boolean {
  return delegation !== undefined && delegation.depth > 0;
}

/** Under which grant a caller acts: that of a caller with a key is the key. */
export function grantOf({ delegation, keyId, id }: Principal): string {
  return delegation?.mandateId ?? (keyId === null ? `caller:${id}` : `key:${keyId}`);
}

/** What a delegate makes is its own: it does not reach what its principal or another delegate has. */
export function toOwnerId(principalId: string, delegateId: string): string {
  return principalId === delegateId ? principalId : `${principalId}/${delegateId}`;
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
export function toAuth(principal: Principal): Auth {
  const { mode, tier, scopes, keyId, delegation } = principal;
  return {
    mode,
    principal_id: onBehalfOf(principal),
    agent_passport_id: delegation?.passportId ?? null,
    signature: null,
    key_id: keyId,
    delegate_id: delegation?.delegateId ?? null,
    mandate_id: delegation?.mandateId ?? null,
    cog_id: delegation?.cogId ?? null,
    tier,
    cap: [...(delegation?.cap ?? [])],
    scp: [...(delegation?.scp ?? scopes)],
  };
}

/** What the audit log keeps of the caller, for rules. */
export function toRecordedFacts(
  principal: Principal,
  { depth, originTier }: { readonly [Key in keyof PolicyCall]?: PolicyCall[Key] | undefined } = {},
): RecordedFacts {
  return {
    principal: onBehalfOf(principal),
    delegate: principal.delegation?.delegateId,
    grant: grantOf(principal),
    mode: principal.mode,
    tier: principal.tier,
    origin_tier: originTier,
    depth,
  };
}
