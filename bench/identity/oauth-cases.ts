// Access tokens of an authorization server, each seen for the first time: there are more of them than the
// gateway remembers. Beside it the signature check of the platform alone.

import { generateKeyPairSync, randomUUID, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { silentLog } from '@starloom/core';
import { createAuthenticator, createPskVerifier, OauthVerifier } from '@starloom/identity';

const TOKENS = 10_500;
const RESOURCE = 'http://127.0.0.1:1';

export async function openOauthCases() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }];
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ keys }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const oauth = new OauthVerifier({
    resource: RESOURCE,
    issuers: [
      {
        issuer,
        jwks_uri: `${issuer}/keys`,
        algorithms: ['ES256'],
        types: ['at+jwt'],
        principal_claim: 'sub',
        tier: 'org',
        scopes: { agents: ['toolset:agents'] },
      },
    ],
    log: silentLog,
  });
  const psk = createPskVerifier([]);
  const authenticator = createAuthenticator({ psk, oauth, anonymous: false });
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  const requests = Array.from({ length: TOKENS }, () => {
    const signed = toSignedText(issuer);
    const signature = sign('sha256', Buffer.from(signed), key).toString('base64url');
    const headers = { authorization: `Bearer ${signed}.${signature}` };
    return { transport: 'http' as const, headers, url: '/mcp' };
  });
  let next = 0;
  const text = Buffer.from(toSignedText(issuer));
  const signature = sign('sha256', text, key);
  return {
    work: {
      oauth_first: () => {
        next = (next + 1) % TOKENS;
        const request = requests[next];
        return request && authenticator.authenticate(request);
      },
      oauth_bare: () => verify('sha256', text, { ...key, key: publicKey }, signature),
    },
    async [Symbol.asyncDispose]() {
      await oauth.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

function toSignedText(iss: string): string {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000);
  const times = { iat, exp: iat + 3600, jti: randomUUID() };
  const header = encode({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' });
  return `${header}.${encode({ iss, aud: RESOURCE, sub: 'ada', scope: 'agents', ...times })}`;
}
