// Mandates: what an agent receives with a call. One agent is its audience, it lives for minutes, and it
// says who acts for whom, under which grant and with which rights. An agent verifies it by itself, with
// the public keys of the realm; a mandate that was minted from another one must be narrower in every way.

import type { FabricError } from '@starloom/core';
import { createGuardedFetch } from '@starloom/wire';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet } from 'jose';
import { covers, notCovered } from '../authority.ts';
import type { Actor } from '../principal.ts';
import { failure } from '../reasons.ts';
import {
  assertClaims,
  MANDATE_TYPE,
  MAX_MANDATE_S,
  type MandateClaims,
  mandateSchema,
  type NestedActor,
} from './claims.ts';
import { type FindKey, hashToken, type ReadToken, readSigned } from './read-token.ts';

export interface VerifyMandateOptions {
  /** Public keys of the realm: a set, its address, or what `createJwks` made of either. */
  readonly jwks: JwksSource | FindKey;
  /** `iss` of the realm, as its JWKS says. */
  readonly issuer: string;
  /** The id under which the gateway knows the agent. */
  readonly audience: string;
  /** The capability that is called; without it the mandate may be for any of the agent. */
  readonly capability?: string | undefined;
  /** Refuses a mandate that came before; one per agent. */
  readonly replay?: ReplayMemory | undefined;
  /** Now, in milliseconds. */
  readonly now?: number | undefined;
}

/** What a verified mandate says, by the names of the envelope. */
export interface Mandate {
  readonly delegateId: string;
  readonly principalId: string;
  readonly mandateId: string;
  readonly cogId: string;
  readonly cap: readonly string[];
  readonly scp: readonly string[];
  readonly depth: number;
  readonly traceId: string;
  readonly claims: MandateClaims;
}

/** AUTH_DENIED with the reason when the mandate does not hold for this agent. */
export async function verifyMandate(
  token: string,
  options: VerifyMandateOptions,
): Promise<Mandate> {
  const { issuer, audience, capability, replay, now = Date.now() } = options;
  const { claims } = await readMandate(token, toFindKey(options.jwks), issuer, now);
  const { aud, cap, jti, exp } = claims;
  if (aud !== audience) throw failure('wrong_audience/mandate', { agent_id: audience });
  if (!cap.some((glob) => isFor(glob, aud, capability))) {
    throw failure('wider_than_parent/capability');
  }
  if (replay && !replay.isNew(jti, exp * 1000, now)) throw failure('replayed');
  return toMandate(claims);
}

/**
 * A chain of mandates, the first one first, for callers that have all of them: every signature, and every
 * link. The first one has no parent here; a passport above it is never passed on.
 */
export async function verifyMandateChain(
  tokens: readonly string[],
  { jwks, issuer, now = Date.now() }: Pick<VerifyMandateOptions, 'jwks' | 'issuer' | 'now'>,
): Promise<readonly Mandate[]> {
  const findKey = toFindKey(jwks);
  const chain: MandateClaims[] = [];
  for (const token of tokens) {
    chain.push((await readMandate(token, findKey, issuer, now)).claims);
  }
  const [first] = chain;
  if (first?.dep !== 1) throw brokenChain('its first mandate is missing');
  for (const [index, child] of chain.slice(1).entries()) {
    const parent = chain[index];
    if (parent) assertLink(parent, hashToken(tokens[index] ?? ''), child);
  }
  return chain.map(toMandate);
}

/** Signature, form, issuer and times; for whom it is and whether it was revoked is not looked at. */
export async function readMandate(
  token: string,
  findKey: FindKey,
  issuer: string,
  now: number,
): Promise<ReadToken<MandateClaims>> {
  const read = await readSigned(token, MANDATE_TYPE, mandateSchema, findKey);
  const { claims } = read;
  assertClaims(claims, { issuer, now, maxLife: MAX_MANDATE_S });
  const { dep, mxd, pah, act, cog, sub } = claims;
  if (dep > mxd) throw failure('too_deep');
  if (dep > 1 && pah === undefined) throw brokenChain('its parent is missing');
  const actors = [{ sub, cog }, ...toActors(act)];
  if (actors.length !== dep) throw brokenChain('it does not name all that acted before');
  if (new Set(actors.map((actor) => actor.cog)).size !== actors.length) {
    throw brokenChain('one instance acts twice in it');
  }
  return read;
}

/** Whether `child` was minted from `parent` and is narrower; AUTH_DENIED with the reason if not. */
function assertLink(parent: MandateClaims, parentHash: string, child: MandateClaims): void {
  if (child.pah !== parentHash) throw brokenChain('its parent is another mandate');
  if (child.prn !== parent.prn) throw brokenChain('its principal changed');
  if (child.mnd !== parent.mnd) throw brokenChain('its grant changed');
  if (child.tid !== parent.tid) throw brokenChain('its trace changed');
  if (child.dep !== parent.dep + 1)
    throw brokenChain('its depth is not that of its parent and one');
  if (child.sub !== parent.aud) throw brokenChain('its delegate is not the agent of its parent');
  if (child.mxd > parent.mxd) throw widerThanParent('its depth may go further');
  if (child.exp > parent.exp) throw widerThanParent('it lives longer');
  if (parent.rxp !== undefined && (child.rxp ?? Number.POSITIVE_INFINITY) > parent.rxp) {
    throw widerThanParent('its root lives longer');
  }
  if (child.bud.calls > parent.bud.calls || child.bud.ms > parent.bud.ms) {
    throw widerThanParent('its budget is larger');
  }
  const more = [...notCovered(child.cap, parent.cap), ...notCovered(child.scp, parent.scp)];
  if (more.length > 0) throw widerThanParent(`it grants ${more.slice(0, 3).join(', ')}`);
}

export function toActors(act: NestedActor | undefined): Actor[] {
  const actors: Actor[] = [];
  for (let at = act; at; at = at.act) actors.push({ sub: at.sub, cog: at.cog });
  return actors;
}

/** The last one first, each inside the one after it. */
export function toNestedActor([first, ...rest]: readonly Actor[]): NestedActor | undefined {
  if (!first) return undefined;
  const act = toNestedActor(rest);
  return { ...first, ...(act && { act }) };
}

function toFindKey(jwks: VerifyMandateOptions['jwks']): FindKey {
  return typeof jwks === 'function' ? jwks : createJwks(jwks);
}

function isFor(glob: string, agentId: string, capability: string | undefined): boolean {
  if (capability !== undefined) return covers(glob, `${agentId}/${capability}`);
  const [agent = ''] = glob.split('/', 1);
  return covers(agent, agentId);
}

function toMandate(claims: MandateClaims): Mandate {
  const { sub, prn, mnd, cog, cap, scp, dep, tid } = claims;
  return {
    delegateId: sub,
    principalId: prn,
    mandateId: mnd,
    cogId: cog,
    cap,
    scp,
    depth: dep,
    traceId: tid,
    claims,
  };
}

function brokenChain(what: string): FabricError {
  return failure('broken_chain', { what });
}

function widerThanParent(what: string): FabricError {
  return failure('wider_than_parent', { what });
}

type JwksSource = JSONWebKeySet | URL;

const TIMEOUT_MS = 5_000;
const COOLDOWN_MS = 30_000;
const CACHE_MS = 300_000;

/**
 * The public keys of an issuer, for agents that verify: a set that is given, or an address from the
 * configuration. A set from an address is kept, and read again for a key that is not in it, but not more
 * often than once in half a minute however many ask.
 */
export function createJwks(source: JwksSource): FindKey {
  if (!(source instanceof URL)) return createLocalJWKSet(source) as FindKey;
  const { fetch } = createGuardedFetch({ hosts: [source.hostname], timeoutMs: TIMEOUT_MS });
  return createRemoteJWKSet(source, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: CACHE_MS,
    [customFetch]: fetch,
  }) as FindKey;
}

/** How many ids are kept; at most five minutes of calls. */
const MAX_COUNT = 100_000;

/**
 * Remembers ids of tokens until they expire, in bounded memory. When it is full of ids that have not
 * expired, everything is refused: forgetting one would let it in again.
 */
export class ReplayMemory {
  readonly #most: number;
  /** Ids and when they expire, in milliseconds. */
  readonly #seen = new Map<string, number>();

  constructor(most = MAX_COUNT) {
    this.#most = most;
  }

  /** True once for each id. */
  isNew(id: string, expiresAt: number, now: number): boolean {
    if (this.#seen.has(id)) return false;
    if (this.#seen.size >= this.#most) this.#forgetExpired(now);
    if (this.#seen.size >= this.#most) return false;
    // Longer than the token is accepted with clocks that differ.
    this.#seen.set(id, expiresAt + GRACE_MS);
    return true;
  }

  #forgetExpired(now: number): void {
    for (const [id, until] of this.#seen) if (until <= now) this.#seen.delete(id);
  }
}

const GRACE_MS = 60_000;
