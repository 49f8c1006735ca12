// The mint: makes a mandate for one call at one agent, never wider than what the caller has. What it
// grants is what the caller may do, what the agent's manifest lets it do for others, what its tier allows
// and what the caller asked for, all at once.

import { randomUUID } from 'node:crypto';
import {
  type Clock,
  canonicalJson,
  lowerTier,
  type Manifest,
  sha256Hex,
  type TrustTier,
} from '@starloom/core';
import { z } from 'zod';
import {
  type Authority,
  covers,
  forTier,
  intersect,
  notCovered,
  toAuthority,
} from '../authority.ts';
import {
  type Actor,
  type Delegation,
  grantOf,
  isMandated,
  onBehalfOf,
  type Principal,
} from '../principal.ts';
import { failure } from '../reasons.ts';
import {
  globsSchema,
  MANDATE_TYPE,
  MAX_MANDATE_S,
  MAX_TOKEN_LENGTH,
  type MandateClaims,
  MIN_MANDATE_S,
  mandateSchema,
} from './claims.ts';
import { toNestedActor } from './mandate.ts';
import { hashToken } from './read-token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What a caller asks the mint for, in `_meta["io.starloom/delegate"]`: less than it has. */
export const delegateRequestSchema = z.strictObject({
  cap: globsSchema.optional(),
  scp: globsSchema.optional(),
  ttl_s: z.int().min(MIN_MANDATE_S).max(MAX_MANDATE_S).optional(),
  calls: z.int().min(0).optional(),
  ms: z.int().min(1).optional(),
});

export type DelegateRequest = z.output<typeof delegateRequestSchema>;

interface MintRequest {
  readonly principal: Principal;
  /** The lowest tier of those along the chain of the call; that of the principal unless given. */
  readonly originTier?: TrustTier | undefined;
  readonly target: Manifest;
  readonly capability: string;
  readonly traceId: string;
  /** Deepest chain where the caller has no limit of its own. */
  readonly maxDepth: number;
  /** What is left for everything below this call. */
  readonly budget: { readonly calls: number; readonly ms: number };
  readonly requested?: DelegateRequest | undefined;
}

interface MintedMandate {
  readonly token: string;
  readonly claims: MandateClaims;
  /** SHA-256 of the token. */
  readonly hash: string;
  /** The call is over: the mandate is not accepted here any more. */
  release(): void;
}

export interface MintOptions {
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly epoch: () => number;
  /** Awaited before a mandate is given out. */
  readonly record: (minted: { claims: MandateClaims; hash: string }) => Promise<void>;
  /** The call of a mandate is over. */
  readonly onEnd?: ((claims: MandateClaims) => void) | undefined;
}

const DEFAULT_LIFE_S = 120;

export class Mint {
  readonly #options: MintOptions;
  /** Every id begins with the mint that made it. */
  readonly #prefix = `${randomUUID()}.`;
  /** Ids of mandates whose call is in flight here. */
  readonly #inFlight = new Set<string>();

  constructor(options: MintOptions) {
    this.#options = options;
  }

  /** POLICY_DENIED when the caller may not hand on what is asked; AUTH_DENIED when its time is over. */
  async mint(request: MintRequest): Promise<MintedMandate> {
    const { keys, record } = this.#options;
    const claims = this.#toClaims(request);
    const token = await keys.sign(MANDATE_TYPE, claims);
    if (token.length > MAX_TOKEN_LENGTH) throw failure('mandate_too_large');
    const hash = hashToken(token);
    await record({ claims, hash });
    this.#inFlight.add(claims.jti);
    const release = () => {
      if (this.#inFlight.delete(claims.jti)) this.#options.onEnd?.(claims);
    };
    return { token, claims, hash, release };
  }

  /** Whether the call of a mandate is over; of one that another gateway minted this is not known. */
  isOver(jti: string): boolean {
    return this.isOwn(jti) && !this.#inFlight.has(jti);
  }

  isOwn(jti: string): boolean {
    return jti.startsWith(this.#prefix);
  }

  #toClaims(request: MintRequest): MandateClaims {
    const { principal, target, traceId, requested, maxDepth, budget } = request;
    const { originTier = principal.tier } = request;
    const { delegation } = principal;
    const { keys, clock, epoch } = this.#options;
    const iat = Math.floor(clock.now() / 1000);
    const end = Math.floor((principal.expiresAt ?? Number.POSITIVE_INFINITY) / 1000);
    const exp = Math.min(end, iat + (requested?.ttl_s ?? DEFAULT_LIFE_S));
    if (exp <= iat) throw failure('expired/caller');
    const rootEnd = isMandated(principal) ? delegation?.rootExpiresAt : principal.expiresAt;
    const prn = onBehalfOf(principal);
    const { sub, cog, actors } = actingFor(principal);
    const act = toNestedActor(actors);
    const dep = (delegation?.depth ?? 0) + 1;
    const mxd = Math.min(maxDepth, delegation?.maxDepth ?? maxDepth);
    if (dep > mxd) throw failure('too_deep/grant', { depth: dep, limit: mxd });
    return mandateSchema.parse({
      ver: 1,
      iss: keys.issuer,
      sub,
      prn,
      ...(sub === prn && { slf: true }),
      mnd: grantOf(principal),
      cog,
      aud: target.agent_id,
      ...grantedBy(request),
      tier: lowerTier(originTier, lowerTier(principal.tier, target.trust_tier)),
      ...(act && { act }),
      dep,
      mxd,
      ...(delegation && { pah: delegation.tokenHash }),
      tid: delegation?.traceId ?? traceId,
      bud: {
        calls: Math.min(budget.calls, requested?.calls ?? budget.calls),
        ms: Math.floor(Math.min(budget.ms, requested?.ms ?? budget.ms)),
      },
      epo: epoch(),
      jti: `${this.#prefix}${randomUUID()}`,
      iat,
      nbf: iat,
      exp,
      ...(delegation?.passportId && { pid: delegation.passportId }),
      ...(rootEnd !== undefined && { rxp: Math.floor(rootEnd / 1000) }),
    });
  }
}

/** An instance of an agent: its build, what its manifest says, and the mandate it runs under. */
export function toCogId(agentId: string, build: string, jti: string): string {
  return `${agentId}@${build}/${jti}`;
}

/** Version and digest of a manifest. */
export function buildOf(manifest: Manifest): string {
  const known = builds.get(manifest);
  if (known !== undefined) return known;
  const digest = sha256Hex(canonicalJson(manifest, { loneSurrogates: 'escape' })).slice(0, 12);
  const build = `${manifest.version}+${digest}`;
  builds.set(manifest, build);
  return build;
}

const builds = new WeakMap<Manifest, string>();

function actingFor({ id, keyId, mode, delegation }: Principal): Acting {
  if (!delegation)
    return { sub: id, cog: keyId === null ? `${mode}/${id}` : `key/${keyId}`, actors: [] };
  const { delegateId: sub, cogId: cog, actors } = delegation;
  return { sub, cog, actors };
}

interface Acting extends Actor {
  readonly actors: Delegation['actors'];
}

/** Request ∩ parent ∩ manifest ∩ tier; the capability that is called is always among it. */
function grantedBy({ principal, target, capability, requested }: MintRequest): Authority {
  const { delegation, scopes, tier } = principal;
  const parent = delegation ?? toAuthority(scopes, tier);
  const own = `${target.agent_id}/${capability}`;
  if (!parent.cap.some((glob) => covers(glob, own)))
    throw failure('not_granted', { missing: [own] });
  const manifest = toAuthority(target.auth?.may_call ?? [], 'org');
  const most = forTier(intersect(parent, manifest), target.trust_tier);
  const wanted = { cap: requested?.cap ?? most.cap, scp: requested?.scp ?? most.scp };
  const granted = intersect(most, wanted);
  const missing = [
    ...missingOf(wanted.cap, granted.cap),
    ...missingOf(wanted.scp, granted.scp),
  ].filter((glob) => !covers(own, glob));
  if (missing.length > 0) throw failure('not_granted', { missing });
  const cap = granted.cap.filter((glob) => !covers(own, glob));
  const isCovered = cap.some((glob) => covers(glob, own));
  return { cap: isCovered ? cap : [own, ...cap], scp: granted.scp };
}

/** Those of which nothing at all was granted. */
function missingOf(wanted: readonly string[], granted: readonly string[]): string[] {
  return notCovered(wanted, granted).filter((glob) => !granted.some((part) => covers(glob, part)));
}
