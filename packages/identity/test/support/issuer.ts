// An issuer of access tokens on a free port: its metadata, its keys, and tokens that a test can bend.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';

export interface Signer {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export interface TokenChange {
  readonly header?: Readonly<Record<string, unknown>>;
  /** `undefined` leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly signer?: Signer;
}

export async function makeSigner(kid: string, alg = 'ES256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export async function startIssuer(now: () => number, resource: string) {
  const signer = await makeSigner('first');
  const world = {
    published: [signer],
    /** Paths that were asked for. */
    asked: [] as string[],
    /** In place of every answer. */
    answer: undefined as ((response: ServerResponse) => void) | undefined,
    metadata: (document: Record<string, unknown>): unknown => document,
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    world.asked.push(path);
    if (world.answer) return world.answer(response);
    const json = (body: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (path === '/.well-known/openid-configuration') {
      return json(world.metadata({ issuer, jwks_uri: `${issuer}/keys` }));
    }
    if (path === '/keys') return json({ keys: world.published.map(({ jwk }) => jwk) });
    return response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = async ({ header = {}, claims = {}, signer: by = signer }: TokenChange = {}) => {
    const at = Math.floor(now() / 1000);
    const usual = { iss: issuer, sub: 'ada', aud: resource, iat: at, exp: at + 600 };
    const all = { ...usual, scope: 'agents', ...claims };
    const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const protectedHeader = { alg: by.alg, typ: 'at+jwt', kid: by.kid, ...header };
    return await new SignJWT(kept)
      .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)) as JWTHeaderParameters)
      .sign(by.privateKey, { crit: Object.fromEntries(crit(header).map((name) => [name, true])) });
  };
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return Object.assign(world, { issuer, signer, token, [Symbol.asyncDispose]: close });
}

function crit({ crit: names = [] }: Readonly<Record<string, unknown>>): string[] {
  return names as string[];
}
