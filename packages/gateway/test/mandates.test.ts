import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallContext, type Envelope, type EventBody, silentLog } from '@starloom/core';
import {
  createKey,
  type Identity,
  openIdentity,
  revoke,
  SigningKeys,
  signPassport,
  toPassportClaims,
  verifyMandate,
} from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { call, connect, openTestGateway, type TestAgent } from './test-gateway.ts';

interface Seen {
  readonly envelope: Envelope;
  readonly mandate: string | undefined;
}

describe('mandates', () => {
  let folder: string;
  let identity: Identity;
  let key: string;
  let seen: Seen[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starloom-mandates-'));
    const grant = { keyId: 'ci', principal: 'ci', tier: 'org', scopes: ['*'] } as const;
    ({ key } = await createKey(folder, grant, Date.now()));
    identity = await openIdentity({ folder, configured: [], anonymous: false, log: silentLog });
    seen = [];
  });

  afterEach(async () => {
    await identity.close();
    await rm(folder, { recursive: true });
  });

  const agent = (
    manifest: TestAgent['manifest'],
    work: (seen: Seen) => Promise<string> = async () => 'done',
  ): TestAgent => ({
    manifest: manifest ?? {},
    async *run(envelope: Envelope, _: AbortSignal, { mandate }: CallContext) {
      const one = { envelope, mandate };
      seen.push(one);
      const final: EventBody = { type: 'final', data: { answer: await work(one) } };
      yield final;
    },
  });
  const wanting = { auth: { mandate: true } };
  const open = (agents: Record<string, TestAgent>, config: Record<string, unknown> = {}) =>
    openTestGateway(agents, { authenticator: identity.authenticator, identity, config });
  const withKey = () => ({ authorization: `Bearer ${key}` });
  const asPassport = async (cap: string[], calls?: number) => {
    const keys = await SigningKeys.open({ folder, clock: systemClock(), log: silentLog });
    const claims = toPassportClaims(
      {
        principal: 'ada',
        delegate: 'desk',
        cap,
        scp: [],
        tier: 'org',
        lifeMs: 600_000,
        maxDepth: 4,
        epoch: 0,
        now: Date.now(),
        ...(calls !== undefined && { budget: { calls, ms: 600_000 } }),
      },
      keys.issuer,
    );
    const token = await signPassport(claims, keys);
    await keys.close();
    return { token, headers: { 'x-agent-passport': token } };
  };

  it('[G13] reach agents that ask for one, with what the envelope says, and no other agent', async () => {
    await using gateway = await open({ coder: agent(wanting), plain: agent({}) });
    await using client = await connectWith(gateway.url, withKey());
    await call(client, 'fabric.call', { agent_id: 'coder', capability: 'work' });
    await call(client, 'fabric.call', { agent_id: 'plain', capability: 'work' });
    const [asked, plain] = seen;
    expect(plain?.mandate).toBeUndefined();
    const response = await fetch(`${gateway.url}/.well-known/jwks.json`);
    const jwks = (await response.json()) as ReturnType<Identity['jwks']>;
    const { claims } = await verifyMandate(asked?.mandate ?? '', {
      jwks,
      issuer: jwks.issuer,
      audience: 'coder',
      capability: 'work',
    });
    expect(asked?.envelope.auth).toMatchObject({
      mode: 'psk',
      principal_id: claims.prn,
      delegate_id: claims.sub,
      mandate_id: claims.mnd,
      cog_id: claims.cog,
      cap: claims.cap,
      scp: claims.scp,
    });
    expect(claims).toMatchObject({ prn: 'ci', mnd: 'key:ci', cap: ['coder/work'], dep: 1 });
    expect(claims.tid).toBe(asked?.envelope.trace.trace_id);
    expect(JSON.stringify(asked?.envelope)).not.toContain(asked?.mandate);
  });

  it('[G12] a passport is taken by the gateway and never passed on', async () => {
    const { token, headers } = await asPassport(['coder/*']);
    await using gateway = await open({ coder: agent(wanting), other: agent({}) });
    await using client = await connectWith(gateway.url, headers);
    const { payload } = await call(client, 'fabric.call', { capability: 'work' });
    expect(payload).toMatchObject({ ok: true, agent_id: 'coder' });
    const { agents } = (await call(client, 'fabric.agent.list', {})).payload;
    expect(agents.map((one: { agent_id: string }) => one.agent_id)).toEqual(['coder']);
    expect(JSON.stringify(seen)).not.toContain(token);
    expect(seen[0]?.envelope.auth).toMatchObject({
      mode: 'passport',
      principal_id: 'ada',
      delegate_id: 'desk',
      agent_passport_id: expect.any(String),
    });
    const { payload: refused } = await call(client, 'fabric.call', {
      agent_id: 'other',
      capability: 'work',
    });
    expect(refused.error.code).toBe('CAPABILITY_NOT_FOUND');
  });

  it('let an agent call on for its caller: narrower, one deeper, in the same trace', async () => {
    let url = '';
    const calls: unknown[] = [];
    const planner = agent(
      { auth: { mandate: true, may_call: ['agent:coder'] } },
      async ({ mandate = '' }) => {
        await using client = await connectWith(url, { 'x-agent-mandate': mandate });
        for (const agent_id of ['coder', 'files']) {
          const { payload } = await call(client, 'fabric.call', { agent_id, capability: 'work' });
          calls.push(payload.error?.code ?? payload.agent_id);
        }
        return 'planned';
      },
    );
    await using gateway = await open({ planner, coder: agent(wanting), files: agent(wanting) });
    url = gateway.url;
    const { headers } = await asPassport(['planner/*', 'coder/*', 'files/*']);
    await using client = await connectWith(url, headers);
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'planner',
      capability: 'work',
    });
    expect(payload).toMatchObject({ ok: true, agent_id: 'planner' });
    expect(calls).toEqual(['coder', 'CAPABILITY_NOT_FOUND']);
    const [first, second] = seen;
    expect(second?.envelope.auth).toMatchObject({ principal_id: 'ada', delegate_id: 'planner' });
    expect(second?.envelope.hop.depth).toBe(2);
    expect(second?.envelope.trace.trace_id).toBe(first?.envelope.trace.trace_id);
    const late = await post(url, { 'x-agent-mandate': first?.mandate ?? '' });
    expect(late.status).toBe(401);
  });

  it('are refused beyond what the caller has, before anything reaches the agent', async () => {
    await using gateway = await open({ coder: agent(wanting) });
    await using client = await connectWith(gateway.url, withKey());
    const ask = (delegate: unknown) =>
      call(
        client,
        'fabric.call',
        { agent_id: 'coder', capability: 'work' },
        { meta: { 'io.starloom/delegate': delegate } },
      );
    expect((await ask({ cap: ['files/read'] })).payload.error).toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'not_granted', missing: ['files/read'] },
    });
    expect((await ask({ ttl_s: 5 })).payload.error.code).toBe('BAD_INPUT');
    expect(seen).toEqual([]);
  });

  it("reach neither the jobs nor the sessions of the caller's principal", async () => {
    let url = '';
    let listed: unknown;
    const planner = agent(wanting, async ({ mandate = '' }) => {
      await using client = await connectWith(url, { 'x-agent-mandate': mandate });
      listed = (await call(client, 'fabric.job.list', {})).payload.jobs;
      return 'planned';
    });
    const jobs = await openSqliteJobs({ path: join(folder, 'jobs.sqlite') });
    const options = { authenticator: identity.authenticator, identity, jobs };
    const gateway = await openTestGateway({ planner, coder: agent({}) }, options);
    url = gateway.url;
    const { headers } = await asPassport(['planner/*', 'coder/*']);
    const client = await connectWith(url, headers);
    const args = { agent_id: 'coder', capability: 'work', idempotency_key: 'k' };
    await call(client, 'fabric.call', args);
    await call(client, 'fabric.call', { agent_id: 'planner', capability: 'work' });
    expect((await call(client, 'fabric.job.list', {})).payload.jobs).toHaveLength(1);
    expect(listed).toEqual([]);
    await client.close();
    await gateway[Symbol.asyncDispose]();
    await jobs.close();
  });

  it('share one budget among all calls below a root call', async () => {
    let url = '';
    const codes: string[] = [];
    const looping = agent(
      { auth: { mandate: true, may_call: ['agent:coder'] } },
      async ({ mandate = '' }) => {
        await using client = await connectWith(url, { 'x-agent-mandate': mandate });
        for (let round = 0; round < 4; round += 1) {
          const { payload } = await call(client, 'fabric.call', {
            agent_id: 'coder',
            capability: 'work',
          });
          codes.push(payload.error?.details.reason ?? 'ok');
        }
        return 'done';
      },
    );
    await using gateway = await open({ planner: looping, coder: agent(wanting) });
    url = gateway.url;
    const { headers } = await asPassport(['planner/*', 'coder/*'], 2);
    await using client = await connectWith(url, headers);
    await call(client, 'fabric.call', { agent_id: 'planner', capability: 'work' });
    expect(codes).toEqual(['ok', 'ok', 'budget_spent', 'budget_spent']);
    const budgets = await Promise.all(
      seen.map(async ({ mandate = '', envelope }) => {
        const { agent_id: audience } = envelope.target;
        const jwks = identity.jwks();
        const { claims } = await verifyMandate(mandate, { jwks, issuer: jwks.issuer, audience });
        return claims.bud.calls;
      }),
    );
    expect(budgets).toEqual([2, 1, 0]);
  });

  describe('in the hands of an agent that stores jobs', () => {
    let url: string;
    let asked: { readonly code: string; readonly job_id: string; readonly details: unknown }[];
    let work: (mandate: string) => Promise<void>;
    let release: () => void;
    let isBlocked: boolean;

    beforeEach(() => {
      asked = [];
      isBlocked = false;
    });

    /** A planner that does `work` with its mandate, and agents for its jobs. */
    const openWithJobs = async (config: Record<string, unknown> = {}) => {
      const jobs = await openSqliteJobs({ path: join(folder, 'jobs.sqlite') });
      const planner = agent(
        { auth: { mandate: true, may_call: ['agent:*'] } },
        async ({ mandate = '' }) => {
          await work(mandate);
          return 'planned';
        },
      );
      const slow: TestAgent = {
        manifest: {},
        async *run(_, signal) {
          isBlocked = true;
          await new Promise<void>((resolve) => {
            release = resolve;
            signal.addEventListener('abort', () => resolve());
          });
          yield { type: 'final', data: { answer: 'released' } };
        },
      };
      const gateway = await openTestGateway(
        { planner, slow, coder: agent({}) },
        { authenticator: identity.authenticator, identity, jobs, config },
      );
      url = gateway.url;
      return {
        [Symbol.asyncDispose]: async () => {
          await gateway[Symbol.asyncDispose]();
          await jobs.close();
        },
      };
    };
    const store = async (mandate: string, more: Record<string, unknown> = {}) => {
      await using client = await connectWith(url, { 'x-agent-mandate': mandate });
      const args = { agent_id: 'coder', capability: 'work', async: true, ...more };
      const { payload } = await call(client, 'fabric.call', args);
      const { code = 'ok', details } = payload.error ?? {};
      asked.push({ code, job_id: payload.job_id, details });
      return payload.job_id as string;
    };
    const plan = async (headers: Record<string, string>) => {
      await using client = await connectWith(url, headers);
      await call(client, 'fabric.call', { agent_id: 'planner', capability: 'work' });
    };
    /** What became of a job, read by an agent that acts for the same principal. */
    const outcomes = (headers: Record<string, string>, ids: readonly string[]) => {
      const found: { state: string; error?: { code: string; details: unknown } }[] = [];
      work = async (mandate) => {
        await using client = await connectWith(url, { 'x-agent-mandate': mandate });
        for (const job_id of ids) {
          found.push((await call(client, 'fabric.job.status', { job_id })).payload.job);
        }
      };
      return vi.waitUntil(
        async () => {
          found.length = 0;
          await plan(headers);
          const isOver = found.every(({ state }) => !['queued', 'running'].includes(state));
          return isOver && found.length === ids.length && [...found];
        },
        { timeout: 20_000, interval: 50 },
      );
    };

    it('count against the budget when the job is stored, and not again when it runs', async () => {
      await using _ = await openWithJobs();
      work = async (mandate) => {
        for (let round = 0; round < 3; round += 1) await store(mandate);
      };
      const { headers } = await asPassport(['planner/*', 'coder/*'], 2);
      await plan(headers);
      expect(asked.map(({ code }) => code)).toEqual(['ok', 'ok', 'POLICY_DENIED']);
      expect(asked[2]?.details).toMatchObject({ reason: 'budget_spent' });
      const ids = asked.slice(0, 2).map(({ job_id }) => job_id);
      const ended = await outcomes((await asPassport(['planner/*', 'coder/*'])).headers, ids);
      expect(ended.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
    });

    it('let no job begin later than an hour, or after the credential at the root expires', async () => {
      await using _ = await openWithJobs();
      const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
      work = async (mandate) => {
        for (const minutes of [5, 30, 90]) await store(mandate, { run_at: inMinutes(minutes) });
      };
      await plan(withKey());
      expect(asked.map(({ code }) => code)).toEqual(['ok', 'ok', 'POLICY_DENIED']);
      expect(asked[2]?.details).toMatchObject({ reason: 'outlives_mandate' });
      asked = [];
      await plan((await asPassport(['planner/*', 'coder/*'])).headers);
      expect(asked.map(({ code }) => code)).toEqual(['ok', 'POLICY_DENIED', 'POLICY_DENIED']);
    });

    it('end a job whose turn comes too late', async () => {
      await using _ = await openWithJobs({
        jobs: { kind: 'sqlite', concurrency: 1 },
        mandates: { jobs_ms: 20 },
      });
      await using client = await connectWith(url, withKey());
      await call(client, 'fabric.call', { agent_id: 'slow', capability: 'work', async: true });
      await vi.waitUntil(() => isBlocked, { timeout: 20_000 });
      let late = '';
      work = async (mandate) => {
        late = await store(mandate);
      };
      await plan(withKey());
      const storedAt = Date.now();
      await vi.waitUntil(() => Date.now() > storedAt + 20, { timeout: 20_000 });
      release();
      const [job] = await outcomes(withKey(), [late]);
      expect(job).toMatchObject({
        state: 'failed',
        error: { code: 'AUTH_DENIED', details: { reason: 'expired' } },
      });
      expect(seen.map(({ envelope }) => envelope.target.agent_id)).not.toContain('coder');
    });

    it('end the jobs that wait and run when a link of the chain is revoked', async () => {
      await using _ = await openWithJobs();
      const ids: string[] = [];
      work = async (mandate) => {
        const run_at = new Date(Date.now() + 1_500).toISOString();
        ids.push(await store(mandate, { agent_id: 'slow' }), await store(mandate, { run_at }));
      };
      await plan(withKey());
      await vi.waitUntil(() => isBlocked, { timeout: 20_000 });
      await revoke(folder, 'delegate', 'planner', Date.now());
      for (const job of await outcomes(withKey(), ids)) {
        expect(job).toMatchObject({
          state: 'failed',
          error: { code: 'AUTH_DENIED', details: { reason: 'revoked' } },
        });
      }
    });
  });

  it('cannot be minted without signing keys: the agent is not called', async () => {
    await using gateway = await openTestGateway({ coder: agent(wanting) });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'coder',
      capability: 'work',
    });
    expect(payload.error).toMatchObject({ code: 'POLICY_DENIED', details: { reason: 'no_mint' } });
    expect(seen).toEqual([]);
  });

  it('are one credential: beside a key, or in _meta over HTTP, the request is refused', async () => {
    await using gateway = await open({ coder: agent(wanting) });
    const { token, headers } = await asPassport(['coder/*']);
    expect((await post(gateway.url, { ...withKey(), ...headers })).status).toBe(401);
    await using client = await connectWith(gateway.url, withKey());
    for (const name of ['io.starloom/passport', 'io.starloom/mandate']) {
      const refused = call(
        client,
        'fabric.call',
        { capability: 'work' },
        { meta: { [name]: token } },
      );
      await expect(refused).rejects.toMatchObject({ code: -32001 });
    }
    expect(seen).toEqual([]);
  });
});

function systemClock() {
  return { now: Date.now, monotonic: () => performance.now() };
}

async function connectWith(url: string, headers: Record<string, string>) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'test', version: '0' });
  const target = new URL(`${url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(target, { requestInit: { headers } }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

function post(url: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
}
