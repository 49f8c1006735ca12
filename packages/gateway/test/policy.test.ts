// The rules of the configuration, through every way by which a caller sees and calls agents.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventBody, FabricError, silentLog } from '@starloom/core';
import {
  type AuditRecord,
  auditFiles,
  createPskVerifier,
  openIdentity,
  type PskKey,
  verifyAudit,
} from '@starloom/identity';
import { openSqliteJobs } from '@starloom/jobs';
import { afterEach, describe, expect, it } from 'vitest';
import { request } from './a2a/raw.ts';
import {
  answers,
  call,
  connect,
  fails,
  openTestGateway,
  type TestAgent,
  type TestGatewayOptions,
} from './test-gateway.ts';

const key = (name: string) => `key-of-${name}-0123456789abcdef`;
const owner = (name: string, tier: PskKey['tier'], scopes: readonly string[] = ['*']): PskKey => {
  return { key_id: name, key: key(name), principal: name, tier, scopes };
};
const KEYS = [
  owner('ada', 'org'),
  owner('ben', 'org'),
  owner('guest', 'public', ['agent:*']),
  owner('coder-key', 'org'),
];
const psk = createPskVerifier(KEYS);

const agents: Record<string, TestAgent> = {
  percy: {
    manifest: { capabilities: [{ name: 'read' }, { name: 'write' }], tags: ['files'] },
    run: answers('from percy'),
  },
  vault: { manifest: { capabilities: [{ name: 'read' }] }, run: answers('from vault') },
};

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function openWith(
  policy: object,
  options: TestGatewayOptions = {},
  among: Record<string, TestAgent> = agents,
) {
  const gateway = await openTestGateway(among, { psk, config: { policy }, ...options });
  closers.push(() => gateway[Symbol.asyncDispose]());
  const as = async (name: string, mode: 'auto' | 'legacy' = 'auto') => {
    const client = await connect(gateway.url, mode, { authorization: `Bearer ${key(name)}` });
    closers.push(() => client.close());
    return client;
  };
  return { ...gateway, as };
}

const rules = (...list: readonly (readonly [name: string, when: string, effect: string])[]) => {
  return { rules: list.map(([name, when, effect]) => ({ name, when, effect })) };
};

const READ_ONLY = rules(['read-only', 'principal.id == "ada" && capability == "write"', 'deny']);
const NO_VAULT = rules(['no-vault', 'principal.id == "ada" && agent.id == "vault"', 'deny']);
const NEVER_NOW = rules(['too-late', 'time > timestamp("2020-01-01T00:00:00Z")', 'deny']);
const ROOTS_ONLY = rules(['roots-only', 'depth > 1 && agent.id == "vault"', 'deny']);

describe('a rule that always denies', () => {
  it.each(['auto', 'legacy'] as const)(
    'hides a capability (%s): listed and callable for others alone',
    async (mode) => {
      const world = await openWith(READ_ONLY);
      const [ada, ben] = [await world.as('ada', mode), await world.as('ben', mode)];
      const toolsOf = async (client: typeof ada) =>
        (await client.listTools()).tools.map(({ name }) => name);
      expect(await toolsOf(ada)).not.toContain('percy.write');
      expect(await toolsOf(ada)).toContain('percy.read');
      expect(await toolsOf(ben)).toContain('percy.write');
      await expect(call(ada, 'percy.write', {})).rejects.toMatchObject({ code: -32602 });
      expect((await call(ben, 'percy.write', {})).result.isError).toBeFalsy();
    },
  );

  it('hides an agent of which nothing is left', async () => {
    const world = await openWith(rules(['no-reading', 'capability == "read"', 'deny']));
    const { payload } = await call(await world.as('ada'), 'fabric.agent.list', {});
    expect(payload.agents).toMatchObject([
      { agent_id: 'percy', capabilities: [{ name: 'write' }] },
    ]);
  });

  it('makes an agent look unknown, by every tool', async () => {
    const world = await openWith(NO_VAULT);
    const ada = await world.as('ada');
    for (const tool of ['fabric.call', 'fabric.route.preview']) {
      const hidden = await call(ada, tool, { agent_id: 'vault', capability: 'read' });
      const unknown = await call(ada, tool, { agent_id: 'nobody', capability: 'read' });
      expect(hidden.payload.error.code).toBe('CAPABILITY_NOT_FOUND');
      const same = JSON.stringify(hidden.payload.error).replaceAll('vault', 'nobody');
      expect(same).toBe(JSON.stringify(unknown.payload.error));
    }
    const described = await call(ada, 'fabric.agent.describe', { agent_id: 'vault' });
    expect(described.payload.error.details.reason).toBe('unknown_agent');
    const seen = [
      await call(ada, 'fabric.agent.list', {}),
      await call(ada, 'fabric.health', {}),
      await call(ada, 'fabric.call', { capability: 'read' }),
    ].map(({ payload }) => payload);
    expect(JSON.stringify(seen)).not.toContain('vault');
    expect(seen[2]).toMatchObject({ ok: true, agent_id: 'percy' });
  });

  it('hides its A2A card and its tasks', async () => {
    const world = await openWith(NO_VAULT);
    const ask = (name: string, agent: string) =>
      request(`${world.url}/a2a/${agent}/.well-known/agent-card.json`, 'GET', undefined, {
        key: key(name),
      });
    expect((await ask('ada', 'vault')).status).toBe(404);
    expect((await ask('ben', 'vault')).status).toBe(200);
    const own = await request(`${world.url}/.well-known/agent-card.json`, 'GET', undefined, {
      key: key('ada'),
    });
    expect(JSON.stringify(own.body)).not.toContain('vault');
  });

  it('holds for fallbacks: one that it hides is in no route, trail or error', async () => {
    const offline = fails(new FabricError('AGENT_OFFLINE', 'gone', { details: { sent: false } }));
    const dead = {
      manifest: { capabilities: [{ name: 'read' }], fallbacks: ['vault'] },
      run: offline,
    };
    const world = await openWith(NO_VAULT, {}, { ...agents, dead });
    const served = await call(await world.as('ada'), 'fabric.call', {
      agent_id: 'dead',
      capability: 'read',
    });
    expect(served.payload).toMatchObject({ ok: true, agent_id: 'percy' });
    expect(JSON.stringify(served.payload)).not.toContain('vault');
    const other = await call(await world.as('ben'), 'fabric.call', {
      agent_id: 'dead',
      capability: 'read',
    });
    expect(other.payload).toMatchObject({ ok: true, agent_id: 'vault' });
  });

  it('denies what no rule allows, where that is the default', async () => {
    const allowed = rules(['reading', 'capability == "read"', 'allow']);
    const world = await openWith({ ...allowed, default: 'deny' });
    const ada = await world.as('ada');
    const names = (await ada.listTools()).tools.map(({ name }) => name);
    expect(names.filter((name) => !name.startsWith('fabric'))).toEqual([
      'percy.read',
      'vault.read',
    ]);
    expect((await call(ada, 'fabric.call', { capability: 'write' })).payload.error.code).toBe(
      'CAPABILITY_NOT_FOUND',
    );
  });
});

describe('a rule on the call itself', () => {
  it('leaves the agent visible, and refuses the call with POLICY_DENIED and its name', async () => {
    const world = await openWith(NEVER_NOW);
    const ada = await world.as('ada');
    expect((await ada.listTools()).tools.map(({ name }) => name)).toContain('vault.read');
    const target = { agent_id: 'vault', capability: 'read' };
    for (const tool of ['fabric.call', 'fabric.route.preview']) {
      const { payload } = await call(ada, tool, target);
      expect(payload.error).toMatchObject({ code: 'POLICY_DENIED', details: { rule: 'too-late' } });
    }
    const unnamed = await call(ada, 'fabric.call', { capability: 'read' });
    expect(unnamed.payload.error).toMatchObject({ code: 'POLICY_DENIED' });
    const tool = await call(ada, 'vault.read', {});
    expect(tool.result._meta?.['io.starloom/error']).toMatchObject({
      error: { code: 'POLICY_DENIED', details: { rule: 'too-late' } },
    });
  });

  it('is asked at every call: by its depth', async () => {
    const world = await openWith(ROOTS_ONLY);
    const ada = await world.as('ada');
    const target = { agent_id: 'vault', capability: 'read' };
    expect((await call(ada, 'fabric.call', target)).payload.ok).toBe(true);
    const meta = { 'x-openstarry-depth': 2 };
    const deep = await call(ada, 'fabric.call', target, { meta });
    expect(deep.payload.error).toMatchObject({
      code: 'POLICY_DENIED',
      details: { rule: 'roots-only', agent_id: 'vault' },
    });
  });

  it('refuses jobs and A2A tasks too', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'starloom-policy-'));
    closers.push(() => rm(folder, { recursive: true }));
    const jobs = await openSqliteJobs({ path: join(folder, 'jobs.db') });
    closers.push(() => jobs.close());
    const world = await openWith(NEVER_NOW, { jobs });
    const target = { agent_id: 'vault', capability: 'read', async: true };
    const job = await call(await world.as('ada'), 'fabric.call', target);
    expect(job.payload.error).toMatchObject({
      code: 'POLICY_DENIED',
      details: { rule: 'too-late' },
    });
    const sent = await request(
      `${world.url}/a2a/vault`,
      'POST',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } },
      },
      { key: key('ada') },
    );
    expect(JSON.stringify(sent.body)).toContain('POLICY_DENIED');
  });
});

describe('a policy of the gateway', () => {
  it('is in the audit log and in the debug log with the name of the rule', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'starloom-policy-'));
    closers.push(() => rm(folder, { recursive: true }));
    const identity = await openIdentity({
      folder,
      configured: KEYS,
      anonymous: false,
      auditFolder: join(folder, 'audit'),
      log: silentLog,
    });
    closers.push(() => identity.close());
    const lines: string[] = [];
    const policy = {
      rules: [
        { name: 'ben-may', when: 'principal.id == "ben"', effect: 'allow' },
        ...READ_ONLY.rules,
        ...ROOTS_ONLY.rules,
      ],
    };
    const { authenticator } = identity;
    const log = (line: string) => lines.push(line);
    const jobs = await openSqliteJobs({ path: join(folder, 'jobs.db') });
    closers.push(() => jobs.close());
    const world = await openWith(policy, { identity, authenticator, log, jobs });
    const [ada, ben] = [await world.as('ada'), await world.as('ben')];
    await call(ben, 'percy.write', {});
    await call(ada, 'percy.write', {}).catch(() => {});
    await call(ada, 'fabric.call', { agent_id: 'percy', capability: 'write' });
    const target = { agent_id: 'vault', capability: 'read' };
    await call(ada, 'fabric.call', target, { meta: { 'x-openstarry-depth': 2 } });
    await call(ada, 'fabric.call', { agent_id: 'percy', capability: 'write', async: true });
    await call(ada, 'percy.read', {});
    await identity.audit?.close();
    const written = await callsIn(join(folder, 'audit'));
    expect(written.map(({ decision, rule }) => [decision, rule])).toEqual([
      ['allow', 'ben-may'],
      ['deny', 'read-only'],
      ['deny', 'read-only'],
      ['deny', 'roots-only'],
      ['deny', 'read-only'],
      ['allow', undefined],
    ]);
    expect(lines.find((line) => line.includes('a policy rule decided'))).toContain('ben-may');
  });
});

async function callsIn(folder: string) {
  const calls: Extract<AuditRecord, { type: 'call' }>[] = [];
  const files = (await auditFiles(folder)).map((file) => join(folder, file));
  await verifyAudit(files, {
    keys: new Map(),
    onRecord: (record) => record.type === 'call' && calls.push(record),
  });
  return calls;
}

describe('an origin that an agent does not trust', () => {
  const strict: TestAgent = {
    manifest: {
      capabilities: [{ name: 'plan', streaming: true }],
      fallbacks: ['lite'],
      auth: { min_tier: 'org' },
    },
    run: answers('from strict'),
  };
  const lite: TestAgent = {
    manifest: { capabilities: [{ name: 'plan', streaming: true }], trust_tier: 'public' },
    run: answers('from lite', { type: 'token', data: { text: 'from lite' } }),
  };

  it('[G31] is refused: the agent looks unknown to callers below what it demands', async () => {
    const world = await openWith({}, {}, { strict, lite });
    const guest = await world.as('guest');
    expect((await guest.listTools()).tools.map(({ name }) => name)).not.toContain('strict.plan');
    const refused = await call(guest, 'fabric.call', { agent_id: 'strict', capability: 'plan' });
    expect(refused.payload.error.code).toBe('CAPABILITY_NOT_FOUND');
    const trusted = await call(await world.as('ada'), 'strict.plan', {});
    expect(trusted.result.content).toMatchObject([{ text: 'from strict' }]);
  });

  it('[G31] is refused by policy when it stands at the begin of a chain', async () => {
    const outcome: unknown[] = [];
    const world = await openWith(
      {},
      {},
      {
        strict,
        coder: {
          manifest: { capabilities: [{ name: 'code' }], auth: { principal: 'coder-key' } },
          async *run() {
            const coder = await connect(world.url, 'auto', {
              authorization: `Bearer ${key('coder-key')}`,
            });
            const { payload } = await call(coder, 'fabric.call', {
              agent_id: 'strict',
              capability: 'plan',
            });
            outcome.push(payload);
            await coder.close();
            const final: EventBody = { type: 'final', data: { answer: 'done' } };
            yield final;
          },
        },
      },
    );
    await call(await world.as('ada'), 'coder.code', {});
    await call(await world.as('guest'), 'coder.code', {});
    expect(outcome).toMatchObject([
      { ok: true, agent_id: 'strict' },
      { ok: false, error: { code: 'POLICY_DENIED', details: { rule: 'min_tier' } } },
    ]);
  });

  it('[G31] is sent to the fallbacks of the agent instead, without streaming', async () => {
    const world = await openWith({ untrusted: 'degrade' }, {}, { strict, lite });
    const guest = await world.as('guest');
    const { payload, events } = await call(guest, 'fabric.call', {
      agent_id: 'strict',
      capability: 'plan',
      stream: true,
    });
    expect(payload).toMatchObject({
      ok: true,
      agent_id: 'lite',
      fallback: true,
      attempts: [{ agent_id: 'strict', ok: false, code: 'POLICY_DENIED' }, { agent_id: 'lite' }],
    });
    const states = events.map(({ type, data }) => (type === 'status' ? data.state : type));
    expect(states).toContain('degraded');
    const preview = await call(guest, 'fabric.route.preview', {
      agent_id: 'strict',
      capability: 'plan',
    });
    expect(preview.payload.primary).toMatchObject({ agent_id: 'strict', availability: 'denied' });
  });

  it('is refused where no other agent may serve it', async () => {
    const world = await openWith({ untrusted: 'degrade' }, {}, { strict });
    const refused = await call(await world.as('guest'), 'fabric.call', {
      agent_id: 'strict',
      capability: 'plan',
    });
    expect(refused.payload.error).toMatchObject({
      code: 'POLICY_DENIED',
      details: { rule: 'min_tier' },
    });
  });
});
