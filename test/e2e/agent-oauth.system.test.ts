// The gateway's MCP client towards an agent whose tokens come from a real OpenID provider: a client that
// signs in with a key, and tokens bound to a key.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { beginLogin, openAdapter } from '@starloom/adapters';
import {
  createTrace,
  type Manifest,
  manifestSchema,
  parseEnvelope,
  silentLog,
} from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DpopJudge } from '../../packages/adapters/test/fixtures/dpop-judge.ts';
import { serveFake } from '../../packages/adapters/test/fixtures/fake-mcp.ts';
import { DESK, REDIRECT, SIGNER, startOpenIdProvider } from '../support/openid-provider.ts';

interface Claims extends JWTPayload {
  readonly client_id?: string;
  readonly cnf?: { readonly jkt: string };
}

/** An agent that takes tokens of the provider for itself, and bound ones with a proof alone. */
async function openWorld(scheme: 'Bearer' | 'DPoP') {
  const openid = await startOpenIdProvider('tools');
  onTestFinished(() => openid[Symbol.asyncDispose]());
  const agent = await serveFake({});
  onTestFinished(() => agent.close());
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const keys = createRemoteJWKSet(new URL('/jwks', openid.issuer));
  const judge = new DpopJudge();
  const accepted: Claims[] = [];
  const refused = new Set<string>();
  const { origin } = new URL(agent.uri);
  const [serve] = agent.server.listeners('request') as RequestListener[];
  agent.server.removeAllListeners('request');
  agent.server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: agent.uri, authorization_servers: [openid.issuer] };
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ ...metadata, scopes_supported: ['tools'] }));
    }
    const claims = await claimsOf(request).catch(() => undefined);
    if (claims) {
      accepted.push(claims);
      return serve?.(request, response);
    }
    const where = `${origin}/.well-known/oauth-protected-resource/mcp`;
    response.setHeader('www-authenticate', `${scheme} resource_metadata="${where}"`);
    response.writeHead(401).end();
  });

  async function claimsOf(request: IncomingMessage): Promise<Claims | undefined> {
    const [given, token = ''] = request.headers.authorization?.split(' ') ?? [];
    if (given !== scheme || refused.has(token)) return undefined;
    const about = { issuer: openid.issuer, audience: agent.uri };
    const { payload } = await jwtVerify<Claims>(token, keys, about);
    if (scheme === 'Bearer') return payload.cnf ? undefined : payload;
    judge.bound.set(token, payload.cnf?.jkt ?? '');
    const { error } = await judge.judge(request, agent.uri, token);
    return error === undefined ? payload : undefined;
  }

  const manifestWith = (oauth: Readonly<Record<string, unknown>>) =>
    manifestSchema.parse({
      agent_id: 'subject',
      endpoint: { transport: 'http', uri: agent.uri, options: { oauth } },
    });
  const open = async (manifest: Manifest) => {
    const context = { manifest, log: silentLog, stateFolder: folder.path };
    const adapter = await openAdapter(context, { baseFolder: folder.path });
    onTestFinished(() => adapter.close());
    return async () => {
      const envelope = parseEnvelope({
        trace: createTrace(),
        auth: { mode: 'none' },
        target: { agent_id: 'subject', capability: 'work' },
        input: { task: 'hello', arguments: {} },
        response: {},
        hop: { depth: 1, chain: ['subject/work'] },
      });
      const context = { signal: AbortSignal.timeout(20_000), log: silentLog };
      const types: string[] = [];
      for await (const { type } of adapter.call(envelope, context)) types.push(type);
      return types.at(-1);
    };
  };
  /** The agent takes no token that it took before. */
  const refuseOld = () => {
    for (const { http } of agent.received)
      refused.add(http.headers.authorization?.split(' ')[1] ?? '');
  };
  return { openid, folder: folder.path, accepted, refuseOld, manifestWith, open };
}

describe('an mcp agent behind a real OpenID provider', () => {
  it.each(['Bearer', 'DPoP'] as const)(
    'is called by a gateway that signs in with a key, with a %s token',
    async (scheme) => {
      const { openid, accepted, refuseOld, manifestWith, open } = await openWorld(scheme);
      const { issuer, signerKey: private_key } = openid;
      const call = await open(manifestWith({ ...SIGNER, private_key, issuer }));
      expect(await call()).toBe('final');
      refuseOld();
      expect(await call()).toBe('final');
      const clients = new Set(accepted.map(({ client_id }) => client_id));
      expect(clients).toEqual(new Set([SIGNER.client_id]));
      const bound = new Set(accepted.map(({ cnf }) => cnf?.jkt));
      expect(bound.size).toBe(1);
      expect(bound.has(undefined)).toBe(scheme === 'Bearer');
    },
  );

  it('is called after the login of a person with tokens bound to a key, and after their renewal', async () => {
    const { openid, folder, accepted, refuseOld, manifestWith, open } = await openWorld('DPoP');
    const { issuer } = openid;
    const manifest = manifestWith({ grant: 'authorization_code', ...DESK, issuer });
    {
      const listen = async () => REDIRECT;
      await using login = await beginLogin({ manifest, stateFolder: folder, listen });
      await login.finish(await openid.agree(new URL(login.link)));
    }
    const call = await open(manifest);
    expect(await call()).toBe('final');
    refuseOld();
    expect(await call()).toBe('final');
    expect(new Set(accepted.map(({ jti }) => jti)).size).toBe(2);
    expect(new Set(accepted.map(({ cnf }) => cnf?.jkt)).size).toBe(1);
  });
});
