// What is measured: the ways to authenticate, beside the same check by the library alone; and what it
// costs to decide on a call.

import { type Manifest, manifestSchema, silentLog, systemClock } from '@starloom/core';
import {
  Authoriser,
  type AuthRequest,
  createAuthenticator,
  createKey,
  createPskVerifier,
  generateKey,
  LOCAL_PRINCIPAL,
  openIdentity,
  type Principal,
  SigningKeys,
  signPassport,
  signStructuredPassport,
  toPassportClaims,
  verifyMandate,
} from '@starloom/identity';
import { NO_RULES, Policy } from '@starloom/identity/policy';
import { temporaryFolder } from '@starloom/testkit';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { openOauthCases } from './oauth-cases.ts';

export const CASES = [
  'key',
  'passport_cached',
  'passport_first',
  'structured_first',
  'passport_bare',
  'oauth_first',
  'oauth_bare',
  'mint',
  'mandate_first',
  'scopes_only',
  'policy_known',
  'policy_call',
  'policy_first',
] as const;
export type CaseName = (typeof CASES)[number];

export type Work = () => unknown;

export interface Cases extends AsyncDisposable {
  readonly work: Readonly<Record<CaseName, Work>>;
}

export async function openCases(): Promise<Cases> {
  const folder = await temporaryFolder();
  const { path } = folder;
  const grant = { keyId: 'bench', principal: 'bench', tier: 'org', scopes: ['*'] } as const;
  const { key } = await createKey(path, grant, Date.now());
  const log = silentLog;
  const identity = await openIdentity({ folder: path, configured: [], anonymous: false, log });
  const signing = await SigningKeys.open({ folder: path, clock: systemClock, log });
  const claims = () =>
    toPassportClaims(
      {
        principal: 'ada',
        delegate: 'desk',
        cap: ['planner/*', 'coder/*', 'files/read'],
        scp: ['toolset:coordination'],
        tier: 'org',
        lifeMs: 3_600_000,
        maxDepth: 5,
        epoch: 0,
        now: Date.now(),
      },
      signing.issuer,
    );
  const token = await signPassport(claims(), signing);
  const structured = signStructuredPassport(claims(), signing);
  const { issuer } = signing;
  const jwks = identity.jwks();
  const bare = createLocalJWKSet(jwks);
  const target = manifestSchema.parse({
    agent_id: 'coder',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
    trust_tier: 'org',
    auth: { mandate: true },
  });
  const mint = () =>
    identity.mint.mint({
      principal: LOCAL_PRINCIPAL,
      target,
      capability: 'code',
      traceId: '550e8400-e29b-41d4-a716-446655440000',
      maxDepth: 5,
      budget: { calls: 10, ms: 1_000 },
    });
  const { token: mandate } = await mint();
  const request = (headers: Record<string, string>): AuthRequest => {
    return { transport: 'http', headers, url: '/mcp' };
  };
  const byKey = request({ authorization: `Bearer ${key}` });
  const byPassport = request({ 'x-agent-passport': token });
  const { authenticator } = identity;
  await authenticator.authenticate(byPassport);
  const unknown = verifyEachTime(path);
  const oauth = await openOauthCases();
  return {
    work: {
      key: () => authenticator.authenticate(byKey),
      passport_cached: () => authenticator.authenticate(byPassport),
      passport_first: await unknown(token),
      structured_first: await unknown(structured),
      passport_bare: () => jwtVerify(token, bare, { issuer, audience: issuer }),
      ...oauth.work,
      mint: async () => (await mint()).release(),
      mandate_first: () =>
        verifyMandate(mandate, { jwks: bare as never, issuer, audience: 'coder' }),
      ...policyCases(target),
    },
    async [Symbol.asyncDispose]() {
      await oauth[Symbol.asyncDispose]();
      await signing.close();
      await identity.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const RULES = 100;

/** Of the rules, none matches: all are asked. */
function policyCases(target: Manifest) {
  const caller: Principal = { ...LOCAL_PRINCIPAL, id: 'bench', tier: 'org' };
  const call = { depth: 2, time: Date.now(), originTier: 'org' } as const;
  const decide = (when: (index: number) => string) => {
    const rules = Array.from({ length: RULES }, (_, index) => {
      return { name: `rule-${index}`, when: when(index), effect: 'deny' as const };
    });
    const authoriser = new Authoriser(new Policy({ ...NO_RULES, rules }));
    return (principal: Principal) =>
      authoriser.maySee(principal, target, 'code') &&
      authoriser.decide(principal, target, 'code', call);
  };
  const onTarget = (index: number) =>
    `principal.id == "p${index}" || "tag-${index}" in agent.tags || capability.glob("write_${index}*")`;
  const known = decide(onTarget);
  const onCall = decide((index) => `depth > 0 && (${onTarget(index)})`);
  const none = new Authoriser(new Policy(NO_RULES));
  return {
    scopes_only: () =>
      none.maySee(caller, target, 'code') && none.decide(caller, target, 'code', call),
    policy_known: () => known(caller),
    policy_call: () => onCall(caller),
    // Another object is another caller: nothing of it is known.
    policy_first: () => known({ ...caller }),
  };
}

/** Past the memory of verified tokens: the same work as for a token that was never seen. */
function verifyEachTime(path: string) {
  return async (text: string): Promise<Work> => {
    const { readPassport } = await import('@starloom/identity');
    const keys = await SigningKeys.open({ folder: path, clock: systemClock, log: silentLog });
    const psk = createPskVerifier([{ key_id: 'x', key: generateKey(), ...OWNER }]);
    const passport = {
      verify: async (shown: string) => {
        await readPassport(shown, keys, Date.now());
        return LOCAL_PRINCIPAL;
      },
    };
    const authenticator = createAuthenticator({ psk, anonymous: false, passport });
    const request: AuthRequest = {
      transport: 'http',
      headers: { 'x-agent-passport': text },
      url: '/mcp',
    };
    return () => authenticator.authenticate(request);
  };
}

const OWNER = { principal: 'x', tier: 'org', scopes: [] } as const;
