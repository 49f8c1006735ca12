import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { beginLogin } from '../src/index.ts';
import { createMcpAdapter } from '../src/mcp/adapter.ts';
import { DpopJudge } from './fixtures/dpop-judge.ts';
import { serveOauthWorld } from './fixtures/oauth-world.ts';
import { openMcpHttp } from './fixtures/open-mcp.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

async function openBoundWorld(change: Readonly<Record<string, unknown>> = {}) {
  const { oauth, agent } = await serveOauthWorld();
  const judge = new DpopJudge();
  oauth.dpop = judge;
  const { clientId: client_id, clientSecret: client_secret, issuer } = oauth;
  const adapter = await openMcpHttp(agent.uri, {
    oauth: { client_id, client_secret, issuer, ...change },
  });
  return { oauth, agent, adapter, judge };
}

describe('an mcp agent that takes only tokens bound to a key', () => {
  it('is called with a new proof for every request', async () => {
    const { agent, adapter, judge } = await openBoundWorld();
    for (const task of ['one', 'two']) {
      expect((await runCall(adapter, task)).result?.answer).toBe(task);
    }
    expect(judge.bound.size).toBe(1);
    const proofs = agent.received.map(({ http }) => http.headers.dpop);
    expect(new Set(proofs).size).toBe(proofs.length);
    expect(agent.received[0]?.http.headers.authorization).toMatch(/^DPoP access-/);
  });

  it('gets the nonce that it asks for, and the call is sent once more', async () => {
    const { agent, adapter, judge } = await openBoundWorld();
    judge.nonce = 'first-nonce';
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    const calls = () => agent.received.filter(({ method }) => method === 'tools/call').length;
    expect(calls()).toBe(1);
    const before = judge.challenges;
    await runCall(adapter, 'again');
    expect(judge.challenges).toBe(before);
    judge.nonce = 'second-nonce';
    await Promise.all(['a', 'b', 'c'].map((task) => runCall(adapter, task)));
    expect(calls()).toBe(5);
  });

  it('ends the call when no nonce is good enough for the agent', async () => {
    const { agent, adapter, judge } = await openBoundWorld();
    await runCall(adapter, 'hello');
    const before = agent.requests.length;
    const changing = Iterator.from(Array.from({ length: 100 }, (_, n) => `nonce-${n}`));
    Object.defineProperty(judge, 'nonce', { get: () => changing.next().value });
    expect(await failedCall(adapter, 'again')).toMatchObject({ details: { sent: false } });
    expect(agent.requests.length - before).toBeLessThan(4);
  });

  it('has its token renewed with the same key', async () => {
    const { oauth, adapter, judge } = await openBoundWorld();
    await runCall(adapter, 'hello');
    oauth.valid.clear();
    expect((await runCall(adapter, 'again')).result?.answer).toBe('again');
    expect(judge.bound.size).toBe(2);
    expect(new Set(judge.bound.values()).size).toBe(1);
  });

  it('shares its key with no other agent', async () => {
    const one = await openBoundWorld();
    const other = await openBoundWorld();
    await Promise.all([runCall(one.adapter, 'a'), runCall(other.adapter, 'b')]);
    expect([...one.judge.bound.values()]).not.toEqual([...other.judge.bound.values()]);
  });

  it('gets no bearer token where the manifest wants a bound one', async () => {
    const { oauth, agent, adapter } = await openBoundWorld({ dpop: true });
    oauth.dpop = undefined;
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'bad_token', sent: false, fix: expect.stringContaining('DPoP') },
    });
    expect(agent.received).toEqual([]);
  });

  it('gets a bearer token where the manifest says so', async () => {
    const { oauth, adapter } = await openBoundWorld({ dpop: false });
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      details: { reason: 'token_refused', oauth_error: 'invalid_dpop_proof' },
    });
    oauth.dpop = undefined;
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
  });
});

describe('a login to an mcp agent that takes only tokens bound to a key', () => {
  async function openLogin() {
    const { oauth, agent } = await serveOauthWorld();
    const folder = await temporaryFolder();
    onTestFinished(() => folder[Symbol.asyncDispose]());
    const placesWith = (change: Readonly<Record<string, unknown>>) => {
      const { issuer } = oauth;
      const grant = 'authorization_code';
      const options = { oauth: { grant, client_id: 'gateway', issuer, ...change } };
      const endpoint = { transport: 'http', uri: agent.uri, options } as const;
      return { manifest: exampleManifest({ endpoint }), stateFolder: folder.path };
    };
    const open = async (change = {}) => {
      const adapter = await createMcpAdapter({ ...placesWith(change), log: silentLog });
      onTestFinished(() => adapter.close());
      return adapter;
    };
    const logIn = async (change = {}) => {
      const listen = async () => 'http://127.0.0.1:9/callback';
      await using login = await beginLogin({ ...placesWith(change), listen });
      const { headers } = await fetch(login.link, { redirect: 'manual' });
      await login.finish(new URL(headers.get('location') ?? '').searchParams);
      return new URL(login.link);
    };
    const file = join(folder.path, 'oauth', 'subject.json');
    return { oauth, open, logIn, file };
  }

  it('keeps the key beside the tokens, for its owner alone, and renews with it', async () => {
    const { oauth, open, logIn, file } = await openLogin();
    const judge = new DpopJudge();
    judge.nonce = 'a-nonce';
    oauth.dpop = judge;
    const link = await logIn();
    const [thumbprint] = judge.bound.values();
    expect(link.searchParams.get('dpop_jkt')).toBe(thumbprint);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const [one, other] = [await open(), await open()];
    expect((await runCall(one, 'hello')).result?.answer).toBe('hello');
    oauth.valid.clear();
    await Promise.all([runCall(one, 'a'), runCall(other, 'b')]);
    expect(new Set(judge.bound.values())).toEqual(new Set([thumbprint]));
    expect(oauth.asked.at(-1)?.params.get('grant_type')).toBe('refresh_token');
  });

  it('has to be made again when the manifest begins to want a key', async () => {
    const { oauth, open, logIn } = await openLogin();
    await logIn();
    expect((await runCall(await open(), 'hello')).result?.answer).toBe('hello');
    const strict = await open({ dpop: true });
    expect((await failedCall(strict, 'hello')).details.reason).toBe('login_needed');
    oauth.dpop = new DpopJudge();
    await logIn({ dpop: true });
    expect((await runCall(strict, 'hello')).result?.answer).toBe('hello');
  });

  it('ends without tokens when the server binds them to no key', async () => {
    const { logIn, file } = await openLogin();
    await expect(logIn({ dpop: true })).rejects.toMatchObject({ details: { reason: 'bad_token' } });
    await expect(stat(file)).rejects.toThrow();
  });
});
