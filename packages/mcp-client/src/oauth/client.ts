// Who the gateway is at an authorization server: the client that the manifest names, else one that is
// registered there with the login (RFC 7591) and kept with its tokens.

import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import {
  type AddClientAuthentication,
  type AuthorizationServerMetadata,
  createPrivateKeyJwtAuth,
  type FetchLike,
  registerClient,
} from '@modelcontextprotocol/client';
import { failure } from '../reasons.ts';
import type { OauthOptions } from './options.ts';

export interface OauthClient {
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  /** As the server registered it. */
  readonly token_endpoint_auth_method?: string | undefined;
}

interface Registration {
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  readonly redirectUri: string;
  readonly scope: string | undefined;
  readonly fetchFn: FetchLike;
}

/** The client of the manifest; `undefined` when it names none. */
export function namedClient({ client_id, client_secret }: OauthOptions): OauthClient | undefined {
  return client_id === undefined ? undefined : { client_id, client_secret };
}

/** With a JWT that the key of the client signs (RFC 7523); `undefined` for a client without one. */
export function keyAuthentication(oauth: OauthOptions): AddClientAuthentication | undefined {
  const { client_id: clientId, private_key: pem } = oauth;
  const key = pem === undefined ? undefined : readSigningKey(pem);
  if (key === undefined || clientId === undefined) return undefined;
  const { jwk, algorithms } = key;
  return async (headers, params, url, metadata) => {
    const accepted = metadata?.token_endpoint_auth_signing_alg_values_supported ?? [];
    const sign = createPrivateKeyJwtAuth({
      issuer: clientId,
      subject: clientId,
      privateKey: { ...jwk },
      alg: algorithms.find((each) => accepted.includes(each)) ?? algorithms[0],
    });
    await sign(headers, params, url, metadata);
  };
}

export async function findClient(oauth: OauthOptions, about: Registration): Promise<OauthClient> {
  const { issuer, metadata, redirectUri, scope, fetchFn } = about;
  const named = namedClient(oauth);
  if (named) return named;
  if (metadata.registration_endpoint === undefined) {
    throw failure('no_client', { issuer });
  }
  const registered = await registerClient(issuer, {
    metadata,
    fetchFn,
    ...(scope !== undefined && { scope }),
    clientMetadata: {
      client_name: 'Starloom',
      application_type: 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethodFor(metadata),
    },
  });
  const { client_id, client_secret, token_endpoint_auth_method } = registered;
  return { client_id, client_secret, token_endpoint_auth_method };
}

/** As the SDK wants it: without keys that have no value. */
export function toClientInformation({ client_id, ...more }: OauthClient) {
  const { client_secret, token_endpoint_auth_method } = more;
  return {
    client_id,
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
  };
}

/** A program on a person's machine keeps no secret, unless the server insists. */
function authMethodFor({
  token_endpoint_auth_methods_supported: methods,
}: AuthorizationServerMetadata) {
  if (methods === undefined || methods.includes('none')) return 'none';
  return methods.find((each) => /^client_secret_(?:basic|post)$/.test(each)) ?? 'none';
}

interface SigningKey {
  readonly jwk: JsonWebKey;
  /** That it can sign with, the usual one first. */
  readonly algorithms: readonly [string, ...string[]];
}

const RSA = ['RS256', 'PS256', 'RS384', 'PS384', 'RS512', 'PS512'] as const;
const MIN_RSA_BITS = 2048;
const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** From PEM of any form; `undefined` for what signs no JWT. */
export function readSigningKey(pem: string): SigningKey | undefined {
  try {
    const key = createPrivateKey(pem);
    const algorithms = algorithmsOf(key);
    return algorithms && { jwk: key.export({ format: 'jwk' }), algorithms };
  } catch {
    return undefined;
  }
}

function algorithmsOf(key: KeyObject): SigningKey['algorithms'] | undefined {
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return modulusLength < MIN_RSA_BITS ? undefined : RSA;
    case 'ed25519':
      return ['EdDSA', 'Ed25519'];
    case 'ec': {
      const algorithm = CURVES[namedCurve];
      return algorithm === undefined ? undefined : [algorithm];
    }
    default:
      return undefined;
  }
}
