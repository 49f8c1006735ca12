import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ManifestInput, manifestSchema, silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { CompactSign, importJWK } from 'jose';
import {
  type Identity,
  LOCAL_PRINCIPAL,
  openIdentity,
  type PassportTerms,
  type Principal,
  SigningKeys,
  signPassport,
  toPassportClaims,
} from '../../src/index.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Claims = Record<string, unknown>;

/** A realm in a folder of its own, and a forger who has got hold of its signing key. */
export async function openTokenWorld() {
  const folder = await temporaryFolder();
  const clock = new ManualClock();
  const options = { folder: folder.path, configured: [], anonymous: true, log: silentLog, clock };
  const identity = await openIdentity(options);
  const keys = await SigningKeys.open({ folder: folder.path, clock, log: silentLog });
  const file = JSON.parse(await readFile(join(folder.path, 'signing-keys.json'), 'utf8'));
  const [{ kid, x, d }] = file.keys;
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x, d }, 'Ed25519');
  const sign = (payload: string | Uint8Array, header: Claims) =>
    new CompactSign(typeof payload === 'string' ? new TextEncoder().encode(payload) : payload)
      .setProtectedHeader({ alg: 'Ed25519', kid, ...header } as { alg: string })
      .sign(key);
  return {
    folder: folder.path,
    clock,
    identity,
    keys,
    kid: kid as string,
    sign,
    /** Claims as they should be, with some of them changed. */
    passportClaims: (changes: Claims = {}): Claims => {
      return { ...toPassportClaims(terms(clock.now()), keys.issuer), ...changes };
    },
    passport: (changes: Partial<PassportTerms> = {}) =>
      signPassport(toPassportClaims({ ...terms(clock.now()), ...changes }, keys.issuer), keys),
    authenticate: (name: string, token: string) => authenticate(identity, name, token),
    [Symbol.asyncDispose]: async () => {
      await keys.close();
      await identity.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export type TokenWorld = Awaited<ReturnType<typeof openTokenWorld>>;

const HOUR_MS = 3_600_000;

function terms(now: number): PassportTerms {
  return {
    principal: 'ada',
    delegate: 'desk',
    cap: ['planner/*', 'coder/*', 'files/read'],
    scp: ['toolset:coordination'],
    tier: 'org',
    lifeMs: HOUR_MS,
    maxDepth: 5,
    epoch: 0,
    now,
  };
}

async function authenticate(identity: Identity, name: string, token: string): Promise<Principal> {
  return await identity.authenticator.authenticate({
    transport: 'http',
    headers: { [name]: token },
    url: '/mcp',
  });
}

export function manifestOf(agentId: string, changes: Partial<ManifestInput> = {}) {
  return manifestSchema.parse({
    agent_id: agentId,
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
    capabilities: [{ name: 'work' }],
    trust_tier: 'org',
    auth: { mandate: true },
    ...changes,
  });
}

export const TRACE_ID = '550e8400-e29b-41d4-a716-446655440000';

/** A mandate for `agentId`, from this principal; a local caller by default. */
export function mintFor(
  identity: Identity,
  agentId: string,
  options: {
    readonly principal?: Principal;
    readonly capability?: string;
    readonly mayCall?: string[];
    readonly tier?: ManifestInput['trust_tier'];
    readonly originTier?: ManifestInput['trust_tier'];
    readonly requested?: Parameters<Identity['mint']['mint']>[0]['requested'];
  } = {},
) {
  const {
    principal = LOCAL_PRINCIPAL,
    capability = 'work',
    mayCall = [],
    tier,
    originTier,
    requested,
  } = options;
  return identity.mint.mint({
    principal,
    originTier,
    target: manifestOf(agentId, {
      auth: { mandate: true, may_call: mayCall },
      ...(tier && { trust_tier: tier }),
    }),
    capability,
    traceId: TRACE_ID,
    maxDepth: 5,
    budget: { calls: 100, ms: HOUR_MS },
    requested,
  });
}
