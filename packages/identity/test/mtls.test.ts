import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClientCertificate,
  createAuthenticator,
  createCertificateVerifier,
  createPskVerifier,
  LOCAL_PRINCIPAL,
  OauthVerifier,
} from '../src/index.ts';
import { startIssuer } from './support/issuer.ts';
import { openTokenWorld } from './support/token-world.ts';

const SPIFFE = 'spiffe://acme.example/ns/agents/planner';
const NEVER = Number.MAX_SAFE_INTEGER;

function certificate(change: Partial<ClientCertificate> = {}): ClientCertificate {
  return { thumbprint: 'thumb-1', names: [], subject: '', expiresAt: NEVER, ...change };
}

const who = { principal: 'p', tier: 'org', scopes: ['*'] } as const;

describe('rules for client certificates', () => {
  it.each([
    [{ spiffe: SPIFFE }, { names: [`URI:${SPIFFE}`] }],
    [{ spiffe: 'spiffe://acme.example/ns/*/planner' }, { names: [`URI:${SPIFFE}`] }],
    [{ san: 'DNS:*.example' }, { names: ['DNS:b.test', 'DNS:a.example'] }],
    [{ san: 'email:ada@acme.example' }, { names: ['email:ada@acme.example'] }],
    [{ subject: 'desk-*' }, { subject: 'desk-7' }],
  ])('%o fits %o', (rule, change) => {
    const { verify } = createCertificateVerifier([{ ...rule, ...who }]);
    expect(verify(certificate(change))).toMatchObject({ id: 'p', mode: 'mtls', tier: 'org' });
  });

  it.each([
    [{ spiffe: SPIFFE }, { names: [`DNS:${SPIFFE}`] }],
    [{ spiffe: SPIFFE }, { names: [`URI:${SPIFFE}/more`] }],
    [{ spiffe: SPIFFE }, { names: [`URI:${SPIFFE}`, 'URI:spiffe://b/c'] }],
    [{ spiffe: 'spiffe://acme.example/*' }, { names: [`URI:${SPIFFE}`] }],
    [{ spiffe: 'spiffe://*/ns/agents/planner' }, { names: [`URI:${SPIFFE}`] }],
    [{ san: 'DNS:*.example' }, { names: ['DNS:a.b.example', 'URI:a.example', 'DNS:example'] }],
    [{ subject: 'desk' }, { subject: '', names: ['DNS:desk'] }],
    [{ subject: '*' }, { subject: '' }],
  ])('%o does not fit %o', (rule, change) => {
    const { verify } = createCertificateVerifier([{ ...rule, ...who }]);
    expect(() => verify(certificate(change))).toThrow(
      expect.objectContaining({
        code: 'AUTH_DENIED',
        details: expect.objectContaining({ reason: 'unknown_certificate' }),
      }),
    );
  });

  it('count in their order, and end with the certificate', () => {
    const { verify } = createCertificateVerifier([
      { ...who, san: 'DNS:a.example', principal: 'first' },
      { ...who, san: 'DNS:*.example', principal: 'second' },
    ]);
    expect(verify(certificate({ names: ['DNS:a.example'], expiresAt: 7 }))).toMatchObject({
      id: 'first',
      expiresAt: 7,
    });
    expect(verify(certificate({ names: ['DNS:b.example'] })).id).toBe('second');
  });
});

describe('a certificate beside other credentials', () => {
  const psk = createPskVerifier([]);
  const certificates = createCertificateVerifier([{ ...who, subject: 'desk' }]);
  const request = (shown?: ClientCertificate, headers = {}) =>
    ({ transport: 'http', headers, certificate: shown }) as const;

  it('decides only where there is no other, and one without a rule is final', () => {
    const { authenticate } = createAuthenticator({ psk, certificates, anonymous: true });
    expect(authenticate(request(certificate({ subject: 'desk' })))).toMatchObject({ id: 'p' });
    expect(authenticate(request())).toMatchObject({ id: 'anonymous' });
    expect(() => authenticate(request(certificate({ subject: 'eve' })))).toThrow();
    const wrong = { authorization: 'Bearer wrong-key-0123456789abcdef' };
    expect(() => authenticate(request(certificate({ subject: 'desk' }), wrong))).toThrow();
    expect(LOCAL_PRINCIPAL.mode).toBe('none');
  });
});

describe('a token that is bound to a client certificate', () => {
  const refusal = { code: 'AUTH_DENIED', details: { reason: 'bound_to_key' } };

  it('[G12] as a passport is worth nothing without it', async () => {
    await using world = await openTokenWorld();
    const token = await world.passport({ certificate: 'thumb-1' });
    const authenticate = async (shown?: ClientCertificate) =>
      await world.identity.authenticator.authenticate({
        transport: 'http',
        headers: { 'x-agent-passport': token },
        certificate: shown,
      });
    expect(await authenticate(certificate())).toMatchObject({ mode: 'passport', id: 'ada/desk' });
    await expect(authenticate()).rejects.toMatchObject(refusal);
    await expect(authenticate(certificate({ thumbprint: 'thumb-2' }))).rejects.toMatchObject(
      refusal,
    );
  });

  it('as an access token is worth nothing without it, also on the same connection', async () => {
    const clock = new ManualClock();
    await using issuer = await startIssuer(() => clock.now(), 'https://gateway.example');
    const oauth = new OauthVerifier({
      resource: 'https://gateway.example',
      issuers: [
        {
          issuer: issuer.issuer,
          algorithms: ['ES256'],
          types: ['at+jwt'],
          principal_claim: 'sub',
          tier: 'org',
          scopes: {},
        },
      ],
      clock,
      log: { warn: () => {} } as never,
    });
    onTestFinished(() => oauth.close());
    const authenticator = createAuthenticator({
      psk: createPskVerifier([]),
      oauth,
      anonymous: false,
      isCurrent: oauth.isCurrent,
    });
    const token = await issuer.token({ claims: { cnf: { 'x5t#S256': 'thumb-1' } } });
    const headers = { authorization: `Bearer ${token}` };
    const connection = {};
    const authenticate = async (shown?: ClientCertificate) =>
      await authenticator.authenticate({
        transport: 'http',
        headers,
        connection,
        certificate: shown,
      });
    expect(await authenticate(certificate())).toMatchObject({ mode: 'oauth' });
    await expect(authenticate()).rejects.toMatchObject(refusal);
    await expect(authenticate(certificate({ thumbprint: 'x' }))).rejects.toMatchObject(refusal);
  });
});
