// A real OpenID provider (`oidc-provider`) on a free port: client credentials, and the authorization code
// with PKCE for a person who agrees to everything. Access tokens are JWTs for the resource asked for, bound
// to a key where the client proves one (RFC 9449); the provider then wants its nonce.

import { generateKeyPairSync, type JsonWebKey, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

export const REDIRECT = 'http://127.0.0.1:9/callback';
export const ROBOT = { client_id: 'robot', client_secret: 'a-secret-of-the-robot-0123456789' };
/** Signs in with a key. */
export const SIGNER = { client_id: 'signer' };
export const DESK = { client_id: 'desk' };
export const PERSON = 'ada';

export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Of `SIGNER`, as PEM. */
  readonly signerKey: string;
  /** What the browser of the person brings back after the login. */
  agree(link: URL): Promise<URLSearchParams>;
}

/** `scopes`: those of every resource. `redirect`: where `DESK` gets its answer. */
export async function startOpenIdProvider(
  scopes: string,
  redirect = REDIRECT,
): Promise<OpenIdProvider> {
  let serve: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  const server = createServer((request, response) => serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signerKey = signer.publicKey.export({ format: 'jwk' });
  const provider = createProvider({ issuer, scopes, redirect, signerKey });
  const callback = provider.callback();
  serve = (request, response) => {
    if (!request.url?.startsWith('/login/')) return void callback(request, response);
    const agreed = { login: { accountId: PERSON }, consent: {} };
    void provider.interactionFinished(request, response, agreed);
  };
  return {
    issuer,
    signerKey: String(signer.privateKey.export({ format: 'pem', type: 'pkcs8' })),
    agree: (link) => followUntil(link, redirect),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface ProviderOptions {
  readonly issuer: string;
  readonly scopes: string;
  readonly redirect: string;
  readonly signerKey: JsonWebKey;
}

function createProvider({ issuer, scopes, redirect, signerKey }: ProviderOptions): Provider {
  const provider = new Provider(issuer, {
    clients: [
      { ...ROBOT, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
      {
        ...SIGNER,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [{ ...signerKey, kty: 'EC' }] },
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        ...DESK,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [redirect],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['a-key-of-cookies'] },
    scopes: ['openid', 'offline_access', ...scopes.split(' ')],
    pkce: { required: () => true },
    findAccount: async (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/login/${uid}` },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      revocation: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, audience) => ({
          scope: scopes,
          audience,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    loadExistingGrant: async ({ oidc }) => {
      const { params = {}, client, session } = oidc;
      const { accountId } = session ?? {};
      if (!client || accountId === undefined) return undefined;
      const grant = new provider.Grant({ clientId: client.clientId, accountId });
      grant.addOIDCScope(String(params.scope ?? ''));
      grant.addResourceScope(String(params.resource), String(params.scope ?? ''));
      await grant.save();
      return grant;
    },
  });
  return provider;
}

/** Follows redirects with cookies, as a browser does. */
async function followUntil(link: URL, end: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  let at = link;
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`no redirect: ${await response.text()}`);
    at = new URL(location, at);
    if (at.href.startsWith(end)) return at.searchParams;
  }
  throw new Error('too many redirects');
}
