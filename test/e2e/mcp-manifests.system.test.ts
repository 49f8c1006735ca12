// The manifests of the section on MCP, with an agent and an authorization server that run here.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { ManifestInput } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OauthServer, serveProtected } from '../../packages/adapters/test/fixtures/oauth-server.ts';
import { connect } from '../support/connect.ts';
import { manifestsIn } from '../support/doc-manifests.ts';
import { LAUNCHER, startGateway, worldEnvironment } from '../support/start-gateway.ts';

async function openWorld() {
  const oauth = await new OauthServer().listen();
  onTestFinished(() => oauth.server.close());
  const agent = await serveProtected(oauth);
  onTestFinished(() => agent.close());
  const moved = JSON.stringify(manifestsIn('MCP'))
    .replaceAll('https://login.example.com', oauth.issuer)
    .replace(/https:\/\/\w+\.example\.com\/mcp/g, agent.uri)
    .replaceAll('"starloom"', `"${oauth.clientId}"`);
  const agents = JSON.parse(moved) as ManifestInput[];
  const gateway = await startGateway({ agents, env: { TICKETS_SECRET: oauth.clientSecret } });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const client = await connect(gateway);
  onTestFinished(() => client.close());
  const call = async (agent_id: string) => {
    const request = { agent_id, capability: 'work', task: 'hello' };
    return await client.callTool({ name: 'fabric.call', arguments: request });
  };
  return { oauth, agent, gateway, call };
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
    expect(oauth.asked[0]?.params.get('scope')).toBe('tickets.read tickets.write');
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

  it('refuses the login to an agent that uses credentials of its own', async () => {
    const { gateway } = await openWorld();
    const { code, stderr } = await logIn(gateway.folder, 'tickets');
    expect(code).not.toBe(0);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'BAD_INPUT', details: { reason: 'no_login' } },
    });
  });
});
