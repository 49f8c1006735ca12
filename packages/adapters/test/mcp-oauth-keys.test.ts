import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { openOauthWorld } from './fixtures/oauth-world.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength });
const toPem = ({ privateKey }: KeyPair) =>
  String(privateKey.export({ format: 'pem', type: 'pkcs8' }));

describe('an mcp agent whose authorization server takes signed JWTs', () => {
  it.each<[algorithm: string, pair: KeyPair, accepted: string[] | undefined]>([
    ['ES256', ec('P-256'), undefined],
    ['ES384', ec('P-384'), ['ES256', 'ES384']],
    ['RS256', rsa(2048), undefined],
    ['PS256', rsa(2048), ['ES256', 'PS256']],
    ['EdDSA', generateKeyPairSync('ed25519'), undefined],
  ])(
    'is called with a token for a key of %s, without a secret',
    async (algorithm, pair, accepted) => {
      const { oauth, adapter } = await openOauthWorld({
        client_secret: undefined,
        private_key: toPem(pair),
      });
      oauth.change = (metadata) => ({
        ...metadata,
        token_endpoint_auth_methods_supported: ['private_key_jwt'],
        token_endpoint_auth_signing_alg_values_supported: accepted,
      });
      expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
      const [{ params, authorization } = expect.fail('no token was asked for')] = oauth.asked;
      expect(authorization).toBeUndefined();
      expect(params.get('client_assertion_type')).toMatch(/:jwt-bearer$/);
      const assertion = params.get('client_assertion') ?? '';
      expect(decodeProtectedHeader(assertion).alg).toBe(algorithm);
      const { payload } = await jwtVerify(assertion, pair.publicKey, { audience: oauth.issuer });
      expect(payload).toMatchObject({ iss: 'gateway', sub: 'gateway', jti: expect.any(String) });
    },
  );

  it('says that the key is wrong, and shows nothing of it', async () => {
    const pem = toPem(ec('P-256'));
    const { oauth, adapter } = await openOauthWorld({ client_secret: undefined, private_key: pem });
    oauth.answer = (response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_client', error_description: 'bad signature' }));
    };
    const error = await failedCall(adapter, 'hello');
    expect(error).toMatchObject({
      code: 'AUTH_DENIED',
      details: { oauth_error: 'invalid_client', fix: expect.stringContaining('oauth.private_key') },
    });
    expect(JSON.stringify([error.message, error.details])).not.toContain(pem.split('\n')[1]);
  });

  it.each<[problem: string, oauth: Record<string, string>]>([
    [
      'replaces client_secret',
      { client_id: 'a', client_secret: 'b', private_key: toPem(ec('P-256')) },
    ],
    ['needs client_id', { grant: 'authorization_code', private_key: toPem(ec('P-256')) }],
    ['is not a PEM key', { client_id: 'a', private_key: 'not-a-key' }],
    ['is not a PEM key', { client_id: 'a', private_key: toPem(rsa(1024)) }],
    ['is not a PEM key', { client_id: 'a', private_key: toPem(ec('secp256k1')) }],
    ['is needed for jwt_bearer', { grant: 'jwt_bearer' }],
    ['is for jwt_bearer', { client_id: 'a', client_secret: 'b', assertion_file: '/run/token' }],
    ['must be an absolute path', { grant: 'jwt_bearer', assertion_file: 'token' }],
    [
      'must use https',
      {
        grant: 'jwt_bearer',
        assertion_file: '/run/token',
        idp_client_id: 'a',
        idp_token_endpoint: 'http://idp.example/token',
      },
    ],
    [
      'idp_client_id: is needed',
      {
        grant: 'jwt_bearer',
        assertion_file: '/run/token',
        idp_token_endpoint: 'https://idp.example/token',
      },
    ],
    [
      'idp_token_endpoint: is needed',
      { grant: 'jwt_bearer', assertion_file: '/run/token', idp_client_secret: 'a' },
    ],
  ])('refuses a manifest where an option %s', async (problem, oauth) => {
    const manifest = exampleManifest({
      endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/mcp', options: { oauth } },
    });
    const open = async () => await createMcpAdapter({ manifest, log: silentLog });
    const error = await open().then(
      () => expect.fail('it was opened'),
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'BAD_INPUT', details: { reason: 'bad_options' } });
    expect(JSON.stringify(error)).toContain(problem);
    expect(JSON.stringify(error)).not.toMatch(/PRIVATE KEY|not-a-key/);
  });
});
