// Credentials away from the headers of a request: in `_meta` on stdio, and of calls that run later.

import { once } from 'node:events';
import { join } from 'node:path';
import {
  type Adapter,
  Closers,
  type Envelope,
  type ProtocolNotification,
  silentLog,
  systemClock,
} from '@starloom/core';
import {
  createKey,
  type Identity,
  openIdentity,
  revokeKey,
  rotateKey,
  SigningKeys,
  signPassport,
  signStructuredPassport,
  toPassportClaims,
} from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, PipeTransport } from './message-clients.ts';
import { call, connect, openTestGateway, type TestAgent } from './test-gateway.ts';

/** Agrees to follow any resource. */
const followed = (adapter: Adapter) =>
  Object.assign(adapter, {
    serverCapabilities: async () => ({ resources: {} }),
    onListChanged: () => () => {},
    request: async (method: string, params: object, options: RequestOptions) => {
      if (method !== 'subscriptions/listen')
        return { resources: [{ uri: 'file:///a', name: 'a' }] };
      options.onNotification?.({
        method: 'notifications/subscriptions/acknowledged',
        params: { ...params },
      });
      await once(options.signal, 'abort');
      return {};
    },
  });

interface RequestOptions {
  readonly signal: AbortSignal;
  readonly onNotification?: (notification: ProtocolNotification) => void;
}

describe('credentials', () => {
  let opened: Closers;
  let folder: TemporaryFolder;
  let identity: Identity;
  let callers: Envelope['auth'][];

  beforeEach(async () => {
    opened = new Closers();
    folder = await temporaryFolder();
    opened.add(() => folder[Symbol.asyncDispose]());
    identity = await openIdentity({
      folder: folder.path,
      configured: [],
      anonymous: false,
      log: silentLog,
    });
    opened.add(() => identity.close());
    callers = [];
  });
  afterEach(() => opened.close());

  const agent: TestAgent = {
    async *run({ auth }) {
      callers.push(auth);
      yield { type: 'final', data: { answer: 'ok' } };
    },
  };

  const passportFor = async (cap: string[]) => {
    const clock = systemClock;
    const keys = await SigningKeys.open({ folder: folder.path, clock, log: silentLog });
    opened.add(() => keys.close());
    const terms = { principal: 'ada', cap, scp: [], tier: 'org' } as const;
    const life = { lifeMs: 60_000, maxDepth: 3, epoch: 0, now: Date.now() };
    return await signPassport(toPassportClaims({ ...terms, ...life }, keys.issuer), keys);
  };

  it('[G12] a passport in _meta of a request on stdio narrows that request alone', async () => {
    await using gateway = await openTestGateway(
      { coder: agent, other: agent },
      { authenticator: identity.authenticator, identity },
    );
    const transport = new PipeTransport();
    void gateway.gateway.serveStdio(transport.toServer, transport.fromServer);
    const client = await open(transport, 'auto');
    const keys = await SigningKeys.open({
      folder: folder.path,
      clock: systemClock,
      log: silentLog,
    });
    opened.add(() => keys.close());
    const terms = { principal: 'ada', cap: ['coder/*'], scp: [], tier: 'org' } as const;
    const life = { lifeMs: 60_000, maxDepth: 3, epoch: 0, now: Date.now() };
    const claims = toPassportClaims({ ...terms, ...life }, keys.issuer);
    const ask = (agent_id: string, passport?: unknown) =>
      call(
        client,
        'fabric.call',
        { agent_id, capability: 'work' },
        passport === undefined ? {} : { meta: { 'io.starloom/passport': passport } },
      );
    const compact = await signPassport(claims, keys);
    const structured = JSON.parse(signStructuredPassport(claims, keys));
    for (const passport of [compact, structured]) {
      expect((await ask('coder', passport)).payload.ok).toBe(true);
      expect((await ask('other', passport)).payload.error.code).toBe('CAPABILITY_NOT_FOUND');
    }
    expect((await ask('other')).payload.ok).toBe(true);
    expect(callers.map(({ principal_id }) => principal_id)).toEqual(['ada', 'ada', 'local']);
    await expect(ask('coder', `${compact}x`)).rejects.toMatchObject({ code: -32001 });
    await expect(ask('coder', { principal_id: 'eve' })).rejects.toMatchObject({ code: -32001 });
    await client.close();
  });

  it('[G12] a passport in _meta narrows lists and resources too, and reaches no agent', async () => {
    const received: string[] = [];
    await using gateway = await openTestGateway(
      { coder: agent, other: agent },
      {
        authenticator: identity.authenticator,
        identity,
        extendAdapter: (adapter) =>
          Object.assign(adapter, {
            serverCapabilities: async () => ({ resources: {} }),
            onListChanged: () => () => {},
            request: async (method: string, params: unknown) => {
              received.push(JSON.stringify(params));
              const contents = [{ uri: 'file:///a', text: 'a' }];
              return method === 'resources/list'
                ? { resources: [{ uri: 'file:///a', name: 'a' }] }
                : { contents };
            },
          }),
      },
    );
    const transport = new PipeTransport();
    void gateway.gateway.serveStdio(transport.toServer, transport.fromServer);
    const client = await open(transport, 'auto');
    const keys = await SigningKeys.open({
      folder: folder.path,
      clock: systemClock,
      log: silentLog,
    });
    opened.add(() => keys.close());
    const terms = { principal: 'ada', cap: ['coder/*'], scp: [], tier: 'org' } as const;
    const life = { lifeMs: 60_000, maxDepth: 3, epoch: 0, now: Date.now() };
    const claims = toPassportClaims({ ...terms, ...life }, keys.issuer);
    const passport = await signPassport(claims, keys);
    const _meta = { 'io.starloom/passport': passport };
    const { tools } = await client.listTools({ _meta });
    expect(tools.map(({ name }) => name).filter((name) => !name.startsWith('fabric'))).toEqual([
      'coder.work',
    ]);
    const uris = (await client.listResources({ _meta })).resources.map(({ uri }) => uri);
    const all = (await client.listResources()).resources.map(({ uri }) => uri);
    expect([uris.length, all.length]).toEqual([1, 2]);
    const hidden = all.find((uri) => !uris.includes(uri)) ?? '';
    expect((await client.readResource({ uri: uris[0] ?? '', _meta })).contents).toHaveLength(1);
    await expect(client.readResource({ uri: hidden, _meta })).rejects.toMatchObject({
      code: -32602,
    });
    expect((await client.readResource({ uri: hidden })).contents).toHaveLength(1);
    const wrong = { 'io.starloom/passport': `${passport}x` };
    await expect(client.listTools({ _meta: wrong })).rejects.toMatchObject({ code: -32001 });
    await expect(client.listResources({ _meta: wrong })).rejects.toMatchObject({ code: -32001 });
    expect(received.length).toBeGreaterThan(3);
    expect(received.join()).not.toContain('io.starloom/passport');
    await client.close();
  });

  it.each(['auto', 'legacy'] as const)(
    '[G12] a passport in _meta of mode %s follows no resource that it may not read',
    async (era) => {
      await using gateway = await openTestGateway(
        { coder: agent, other: agent },
        { authenticator: identity.authenticator, identity, extendAdapter: followed },
      );
      const transport = new PipeTransport();
      void gateway.gateway.serveStdio(transport.toServer, transport.fromServer);
      const client = await open(transport, era);
      const send = transport.send.bind(transport);
      let _meta: object | undefined;
      transport.send = (message) => {
        const isAsking = 'method' in message && /subscribe$|listen$/.test(message.method);
        if (!isAsking) return send(message);
        const { params = {} } = message;
        return send({ ...message, params: { ...params, _meta: { ...params._meta, ..._meta } } });
      };
      const uris = (await client.listResources()).resources.map(({ uri }) => uri);
      const of = (agentId: string) => uris.find((uri) => uri.includes(agentId)) ?? '';
      const isServed = async (uri: string) => {
        if (era === 'legacy') {
          return await client.subscribeResource({ uri }).then(
            () => true,
            () => false,
          );
        }
        const { honoredFilter } = await client.listen({ resourceSubscriptions: [uri] });
        return honoredFilter.resourceSubscriptions?.includes(uri) ?? false;
      };
      const passport = await passportFor(['coder/*']);
      _meta = { 'io.starloom/passport': passport };
      expect([await isServed(of('coder')), await isServed(of('other'))]).toEqual([true, false]);
      _meta = { 'io.starloom/passport': `${passport}x` };
      expect(await isServed(of('coder'))).toBe(false);
      _meta = {};
      expect(await isServed(of('other'))).toBe(true);
      _meta = { 'io.starloom/passport': passport };
      expect(await isServed(of('other'))).toBe(false);
      await client.close();
    },
  );

  it('a job runs after its key was replaced, and not after its key was revoked', async () => {
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
    const { key } = await createKey(folder.path, grant, Date.now());
    await expect.poll(() => identity.authenticator.isRevoked?.(asKey('ci'))).toBe(false);
    const jobs = await openSqliteJobs({ path: join(folder.path, 'jobs.sqlite') });
    const gateway = await openTestGateway(
      { coder: agent },
      { authenticator: identity.authenticator, identity, jobs },
    );
    opened.add(async () => {
      await gateway[Symbol.asyncDispose]();
      await jobs.close();
    });
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    await expect.poll(() => isLetIn(gateway.url, bearer(key))).toBe(true);
    await using client = await connect(gateway.url, 'auto', bearer(key));
    const later = async () => {
      const run_at = new Date(Date.now() + 1_500).toISOString();
      const args = { capability: 'work', async: true, run_at };
      return (await call(client, 'fabric.call', args)).payload.job_id;
    };
    const kept = await later();
    const now = Date.now();
    const fresh = await rotateKey(folder.path, 'ci', { overlapMs: 0, now });
    await expect.poll(() => isLetIn(gateway.url, bearer(fresh.key))).toBe(true);
    await using next = await connect(gateway.url, 'auto', bearer(fresh.key));
    const stateOf = async (job_id: string) =>
      (await call(next, 'fabric.job.status', { job_id })).payload.job;
    await expect.poll(async () => (await stateOf(kept)).state).toBe('succeeded');
    const args = {
      capability: 'work',
      async: true,
      run_at: new Date(Date.now() + 1_500).toISOString(),
    };
    const dropped = (await call(next, 'fabric.call', args)).payload.job_id;
    await revokeKey(folder.path, 'ci.2', Date.now());
    const { key: other } = await createKey(folder.path, { ...grant, keyId: 'reader' }, Date.now());
    await expect.poll(() => isLetIn(gateway.url, bearer(other))).toBe(true);
    await using reader = await connect(gateway.url, 'auto', bearer(other));
    const read = async () =>
      (await call(reader, 'fabric.job.status', { job_id: dropped })).payload.job;
    await expect.poll(async () => (await read()).state).toBe('failed');
    expect((await read()).error).toMatchObject({ code: 'AUTH_DENIED' });
    expect(callers).toHaveLength(1);
  });
});

function asKey(keyId: string) {
  return { id: 'ci', mode: 'psk', tier: 'org', scopes: [], keyId } as const;
}

async function isLetIn(url: string, headers: Record<string, string>): Promise<boolean> {
  return (await fetch(`${url}/mcp`, { headers })).status !== 401;
}
