// Mandates: what an agent receives with a call. One agent is its audience, it lives for minutes, and it
// says who acts for whom, under which grant and with which rights. An agent verifies it by itself, with
// the public keys of the realm; a mandate that was minted from another one must be narrower in every way.

import type { FabricError } from '@starloom/core';
import { beyond, covers } from '../authority.ts';
import { denied } from '../denied.ts';
import type { Actor } from '../principal.ts';
import {
  assertClaims,
  MANDATE_TYPE,
  MAX_MANDATE_S,
  type MandateClaims,
  mandateSchema,
  type NestedActor,
} from './claims.ts';
import { createJwks, type JwksSource } from './jwks.ts';
import { type FindKey, hashToken, type ReadToken, readSigned } from './read-token.ts';
import type { ReplayMemory } from './replay-memory.ts';

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

const FIX = 'let the gateway mint a mandate for this call';

/** AUTH_DENIED with the reason when the mandate does not hold for this agent. */
export async function verifyMandate(
  token: string,
  options: VerifyMandateOptions,
): Promise<Mandate> {
  const { issuer, audience, capability, replay, now = Date.now() } = options;
  const { claims } = await readMandate(token, toFindKey(options.jwks), issuer, now);
  const { aud, cap, jti, exp } = claims;
  if (aud !== audience) {
    throw denied('wrong_audience', `The mandate is not for the agent ${audience}`, FIX);
  }
  if (!cap.some((glob) => isFor(glob, aud, capability))) {
    throw denied('wider_than_parent', 'The mandate does not cover this capability', FIX);
  }
  if (replay && !replay.isNew(jti, exp * 1000, now)) {
    throw denied('replayed', 'The mandate was used before', FIX);
  }
  return toMandate(claims);
}

/**
 * A chain of mandates, the first one first, for those who have all of them: every signature, and every
 * link. The first one has no parent here; a passport above it is not shown to anybody.
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
  if (first?.dep !== 1) throw broken('its first mandate is missing');
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
  if (dep > mxd) throw denied('too_deep', 'The mandate is deeper than its grant allows', FIX);
  if (dep > 1 && pah === undefined) throw broken('its parent is missing');
  const actors = [{ sub, cog }, ...toActors(act)];
  if (actors.length !== dep) throw broken('it does not name everyone who acted before');
  if (new Set(actors.map((actor) => actor.cog)).size !== actors.length) {
    throw broken('one instance acts twice in it');
  }
  return read;
}

/** Whether `child` was minted from `parent` and is narrower; AUTH_DENIED with the reason if not. */
export function assertLink(parent: MandateClaims, parentHash: string, child: MandateClaims): void {
  if (child.pah !== parentHash) throw broken('its parent is another mandate');
  if (child.prn !== parent.prn) throw broken('its principal changed');
  if (child.mnd !== parent.mnd) throw broken('its grant changed');
  if (child.tid !== parent.tid) throw broken('its trace changed');
  if (child.dep !== parent.dep + 1) throw broken('its depth is not that of its parent and one');
  if (child.sub !== parent.aud) throw broken('its delegate is not the agent of its parent');
  if (child.mxd > parent.mxd) throw wider('its depth may go further');
  if (child.exp > parent.exp) throw wider('it lives longer');
  if (parent.rxp !== undefined && (child.rxp ?? Number.POSITIVE_INFINITY) > parent.rxp) {
    throw wider('its root lives longer');
  }
  if (child.bud.calls > parent.bud.calls || child.bud.ms > parent.bud.ms) {
    throw wider('its budget is larger');
  }
  const more = [...beyond(child.cap, parent.cap), ...beyond(child.scp, parent.scp)];
  if (more.length > 0) throw wider(`it grants ${more.slice(0, 3).join(', ')}`);
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

function broken(what: string): FabricError {
  return denied('broken_chain', `The chain of the mandate is broken: ${what}`, FIX);
}

function wider(what: string): FabricError {
  return denied('wider_than_parent', `The mandate is wider than its parent: ${what}`, FIX);
}
