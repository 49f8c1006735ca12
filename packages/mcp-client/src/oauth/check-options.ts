import type { Manifest } from '@starloom/core';
import { failure } from '../reasons.ts';
import { readSigningKey } from './client.ts';
import { isSecure } from './find-server.ts';
import type { OauthOptions } from './options.ts';

/** BAD_INPUT for a manifest whose options contradict each other. */
export function assertOauth({ agent_id, endpoint }: Manifest, oauth: OauthOptions): void {
  const problems = [...problemsOfClient(oauth), ...problemsOfAssertion(oauth)];
  const names = Object.keys(endpoint.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of ['authorization', 'dpop']) {
    if (names.includes(name)) problems.push(`headers: ${name} comes from oauth`);
  }
  if (endpoint.transport !== 'http') problems.push('options.oauth: is for agents over http');
  if (problems.length === 0) return;
  throw failure('bad_options', { agent_id, problems });
}

function* problemsOfClient(oauth: OauthOptions): Iterable<string> {
  const { grant, client_id, client_secret, private_key } = oauth;
  const isOwn = grant === 'client_credentials';
  if (isOwn && client_id === undefined) {
    yield 'options.oauth.client_id: is needed for client_credentials';
  }
  if (isOwn && client_secret === undefined && private_key === undefined) {
    yield 'options.oauth.client_secret: is needed for client_credentials, or private_key';
  }
  if (private_key === undefined) return;
  if (client_id === undefined) yield 'options.oauth.private_key: needs client_id';
  if (client_secret !== undefined) yield 'options.oauth.private_key: replaces client_secret';
  if (readSigningKey(private_key) === undefined) {
    yield 'options.oauth.private_key: is not a PEM key of type EC, RSA (2048 bits or more) or Ed25519';
  }
}

function* problemsOfAssertion(oauth: OauthOptions): Iterable<string> {
  const { grant, assertion_file, idp_token_endpoint, idp_client_id, idp_client_secret } = oauth;
  if (grant === 'jwt_bearer' && assertion_file === undefined) {
    yield 'options.oauth.assertion_file: is needed for jwt_bearer';
  }
  for (const name of ['assertion_file', 'idp_token_endpoint'] as const) {
    if (grant === 'jwt_bearer' || oauth[name] === undefined) continue;
    yield `options.oauth.${name}: is for jwt_bearer`;
  }
  if (idp_token_endpoint === undefined) {
    if ((idp_client_id ?? idp_client_secret) === undefined) return;
    yield 'options.oauth.idp_token_endpoint: is needed beside idp_client_id and idp_client_secret';
    return;
  }
  if (idp_client_id === undefined) yield 'options.oauth.idp_client_id: is needed';
  if (!isSecure(idp_token_endpoint)) yield 'options.oauth.idp_token_endpoint: must use https';
}
