// The manifests of the section on MCP, with an agent and an authorization server that run here.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { ManifestInput } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveHttp } from '../../packages/adapters/test/fixtures/mcp-http-server.ts';
import {
  json,
  OauthServer,
  serveProtected,
} from '../../packages/adapters/test/fixtures/oauth-server.ts';
import { connect } from '../support/connect.ts';
import { manifestsIn } from '../support/doc-manifests.ts';
import { LAUNCHER, startGateway, worldEnvironment } from '../support/start-gateway.ts';

async function openWorld() {
  const oauth = await new OauthServer().listen();
  onTestFinished(() => oauth.server.close());
  const agent = await serveProtected(oauth);
  onTestFinished(() => agent.close());
  const company = await openCompany();
  const moved = JSON.stringify(manifestsIn('MCP'))
    .replaceAll('https://login.example.com', oauth.issuer)
    .replace(/https:\/\/\w+\.example\.com\/mcp/g, agent.uri)
    .replaceAll('https://sso.example.com/token', company.tokenEndpoint)
    .replaceAll('/run/secrets/id-token', company.idTokenFile)
    .replaceAll('"starloom"', `"${oauth.clientId}"`);
  const agents = JSON.parse(moved) as ManifestInput[];
  const { clientSecret: secret } = oauth;
  const env = { TICKETS_SECRET: secret, PAYROLL_SECRET: secret, SSO_SECRET: 'a-secret-of-sso' };
  const gateway = await startGateway({ agents, env });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const client = await connect(gateway);
  onTestFinished(() => client.close());
  const call = async (agent_id: string) => {
    const request = { agent_id, capability: 'work', task: 'hello' };
    return await client.callTool({ name: 'fabric.call', arguments: request });
  };
  return { oauth, agent, gateway, call, company };
}

/** The single sign-on of a company, and the ID token that it left for the gateway. */
async function openCompany() {
  const sign = (typ: string) =>
    new SignJWT({ sub: 'ada' })
      .setProtectedHeader({ alg: 'HS256', typ })
      .setExpirationTime('5m')
      .sign(new Uint8Array(32));
  const [idToken, grant] = [await sign('JWT'), await sign('oauth-id-jag+jwt')];
  const subjects: (string | null)[] = [];
  const server = await serveHttp(async (request, response) => {
    subjects.push(new URLSearchParams(await text(request)).get('subject_token'));
    json(response, 200, { access_token: grant, token_type: 'N_A' });
  });
  onTestFinished(() => server.close());
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const idTokenFile = join(folder.path, 'id-token');
  await writeFile(idTokenFile, idToken, { mode: 0o600 });
  return {
    tokenEndpoint: `http://127.0.0.1:${server.port}/token`,
    idTokenFile,
    idToken,
    grant,
    subjects,
  };
}

/** The command, and the browser of a person who agrees. */
async function logIn(folder: string, agentId: string) {
  const child = spawn(process.execPath, [LAUNCHER, 'agents', 'login', agentId, '--json'], {
    cwd: folder,
    env: { ...worldEnvironment(folder), TICKETS_SECRET: 'not-used' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
  });
  const ended = once(child, 'close');
  const stderr = text(child.stderr);
  const lines = createInterface({ input: child.stdout });
  const printed: string[] = [];
  let page = '';
  for await (const line of lines) {
    printed.push(line);
    const { link } = JSON.parse(line);
    if (!link) continue;
    const redirect = new URL(new URL(link).searchParams.get('redirect_uri') ?? '');
    const forged = await fetch(new URL('?code=x&state=guess', redirect));
    expect(forged.status).toBe(400);
    page = await (await fetch(link)).text();
  }
  const [code] = await ended;
  return { code, printed: printed.join('\n'), stderr: await stderr, page };
}

describe('docs/agents-of-every-protocol.md, MCP', () => {
  it('shows an agent that is called with tokens of the gateway itself', async () => {
    const { oauth, agent, gateway, call } = await openWorld();
    expect((await call('tickets')).structuredContent).toMatchObject({
      result: { answer: 'hello' },
    });
    const scopes = oauth.asked.map(({ params }) => params.get('scope'));
    expect(scopes).toContain('tickets.read tickets.write');
    const received = agent.received.map(({ http }) => JSON.stringify(http.headers));
    expect(received.join()).toContain('Bearer access-');
    expect(received.join()).not.toContain(gateway.key);
    const log = gateway.log.join('\n');
    for (const secret of [...oauth.valid, oauth.clientSecret]) expect(log).not.toContain(secret);
  });

  it('shows an agent that is called after `starloom agents login`', async () => {
    const { oauth, gateway, call } = await openWorld();
    const early = await call('mail');
    expect(early.isError).toBe(true);
    expect(JSON.stringify(early)).toContain('starloom agents login mail');
    const { code, printed, stderr, page } = await logIn(gateway.folder, 'mail');
    expect({ code, page }).toEqual({ code: 0, page: expect.stringContaining('Logged in to mail') });
    expect(JSON.parse(printed.split('\n').at(-1) ?? '')).toMatchObject({ event: 'logged_in' });
    const file = join(gateway.folder, 'state', 'oauth', 'mail.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await call('mail')).structuredContent).toMatchObject({ result: { answer: 'hello' } });
    const shown = [printed, stderr, ...gateway.log].join('\n');
    for (const secret of [...oauth.valid, ...oauth.refreshTokens]) {
      expect(shown).not.toContain(secret);
    }
    const out = await promisify(execFile)(
      process.execPath,
      [LAUNCHER, 'agents', 'logout', 'mail', '--json'],
      { cwd: gateway.folder, env: worldEnvironment(gateway.folder) },
    );
    expect(JSON.parse(out.stdout)).toEqual({
      event: 'logged_out',
      agent_id: 'mail',
      was_logged_in: true,
      revoked: true,
    });
    await expect(stat(file)).rejects.toThrow();
    await expect
      .poll(async () => JSON.stringify(await call('mail')))
      .toContain('starloom agents login mail');
  });

  it('shows an agent that is called by leave of the identity provider of a company', async () => {
    const { oauth, gateway, call, company } = await openWorld();
    expect((await call('payroll')).structuredContent).toMatchObject({
      result: { answer: 'hello' },
    });
    const { idToken, grant, subjects } = company;
    expect(subjects).toContain(idToken);
    expect(oauth.asked.map(({ params }) => params.get('assertion'))).toContain(grant);
    const log = gateway.log.join('\n');
    for (const secret of [idToken, grant, 'a-secret-of-sso']) expect(log).not.toContain(secret);
  });

  it('refuses the login to an agent that uses credentials of its own', async () => {
    const { gateway } = await openWorld();
    const { code, stderr } = await logIn(gateway.folder, 'tickets');
    expect(code).not.toBe(0);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'BAD_INPUT', details: { reason: 'no_login' } },
    });
  });
});
