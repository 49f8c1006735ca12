// Rules of the realm: shared at one gateway, they decide at all of them.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toRealmStore } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { type Log, type LogFields, silentLog } from '@starloom/core';
import { type AuditEntry, Authoriser, type PolicyAgent, type RealmStore } from '@starloom/identity';
import { Policy } from '@starloom/identity/policy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceSharedRules, SharedRules, sharedPolicySchema } from '../src/shared-rules.ts';
import { temporaryFolder } from './pinning/pinning-world.ts';
import { answers, call, connect, openTestGateway } from './test-gateway.ts';

const secret = Buffer.alloc(32, 5);
const deny = (name: string, when: string) =>
  sharedPolicySchema.parse({ rules: [{ name, when, effect: 'deny' }] });
const NO_WORK = deny('no-work', 'capability == "work" && depth >= 1');

describe('the rules of a realm', () => {
  let store: MemoryCoordinationStore;
  const opened: AsyncDisposable[] = [];

  beforeEach(() => {
    store = new MemoryCoordinationStore();
  });

  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
    await store.close();
  });

  /** A gateway that starts now, with a state folder of its own unless one is given. */
  const enter = async ({ folder, isAway = false }: Joining = {}) => {
    const own = folder === undefined ? await temporaryFolder() : undefined;
    if (own) opened.push(own);
    const stateFolder = folder ?? own?.path ?? '';
    const way = { isAway };
    const realm = { store: toAwayStore(toRealmStore(store), way), secret };
    const [audited, warnings]: [AuditEntry[], string[]] = [[], []];
    const note = (_: LogFields, message: string) => void warnings.push(message);
    const log: Log = { ...silentLog, warn: note, error: note };
    const sharedRules = await SharedRules.open({
      ...{ stateFolder, realm, log },
      audit: (entry) => audited.push(entry),
    });
    opened.push({ [Symbol.asyncDispose]: () => sharedRules.close() });
    const gateway = await openTestGateway({ percy: { run: answers('done') } }, { sharedRules });
    opened.push(gateway);
    const client = await connect(gateway.url);
    opened.push(client);
    const decision = async () => {
      const target = { agent_id: 'percy', capability: 'work' };
      const { error } = (await call(client, 'fabric.call', target)).payload;
      return error ? `${error.code} ${error.details.rule}` : 'ok';
    };
    const share = (policy?: typeof NO_WORK) =>
      replaceSharedRules(stateFolder, realm, { policy, by: 'test', now: Date.now() });
    return {
      folder: stateFolder,
      way,
      audited,
      warnings,
      client,
      url: gateway.url,
      decision,
      share,
    };
  };
  const DENIED = 'POLICY_DENIED realm:no-work';

  it('[G35] deny at every gateway what was shared at one, and no more when they are cleared', async () => {
    const [here, there] = [await enter(), await enter()];
    expect(await there.decision()).toBe('ok');
    await here.share(NO_WORK);
    await expect.poll(there.decision).toBe(DENIED);
    await expect.poll(here.decision).toBe(DENIED);
    expect(there.audited).toEqual([
      expect.objectContaining({
        type: 'policy',
        decision: 'applied',
        revision: 1,
        rules: ['no-work'],
        by: 'test',
      }),
    ]);
    const late = await enter();
    expect(await late.decision()).toBe(DENIED);
    expect(await there.share()).toEqual(NO_WORK);
    await expect.poll(here.decision).toBe('ok');
    expect(here.audited.at(-1)).toMatchObject({ decision: 'cleared', revision: 2, rules: [] });
  });

  it('hide a tool from lists at once, and show it again', async () => {
    const [here, there] = [await enter(), await enter()];
    const tools = async () => (await there.client.listTools()).tools.map(({ name }) => name);
    await here.share(deny('hidden', 'capability == "work"'));
    await expect.poll(tools).not.toContain('percy.work');
    await here.share();
    await expect.poll(tools).toContain('percy.work');
  });

  it('are not taken from a store that others write', async () => {
    const [here, there] = [await enter(), await enter()];
    const rules = {
      revision: 9,
      changed_at: new Date().toISOString(),
      changed_by: 'x',
      policy: NO_WORK,
    };
    await here.share(NO_WORK);
    const { entries } = await store.read('realm:policy');
    const sealed = entries.get('rules')?.value;
    await here.share();
    await expect.poll(there.decision).toBe('ok');
    // In the clear, what cannot be opened, and an older one that the realm did write.
    for (const value of [rules, 'forged', sealed]) {
      const writes = [{ kind: 'put', key: 'rules', value: value as never } as const];
      await store.commit('realm:policy', { writes, event: { keys: ['rules'] } });
      const isHealed = async () => {
        const now = (await store.read('realm:policy')).entries.get('rules')?.value;
        return now !== value && typeof now === 'string';
      };
      await expect.poll(isHealed).toBe(true);
      expect(await there.decision()).toBe('ok');
    }
    expect([...here.warnings, ...there.warnings]).toContain(
      'an entry is not of this realm: not used',
    );
  });

  it('stay in force at a gateway that starts while the store is away', async () => {
    const [here, there] = [await enter(), await enter()];
    await here.share(NO_WORK);
    await expect.poll(there.decision).toBe(DENIED);
    const again = await enter({ folder: there.folder, isAway: true });
    expect(await again.decision()).toBe(DENIED);
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200);
  });

  it('are waited for at a gateway that never knew them: it denies until the store answers', async () => {
    const fresh = await enter({ isAway: true });
    expect(await fresh.decision()).toBe('POLICY_DENIED realm:not-known');
    expect((await fetch(`${fresh.url}/readyz`)).status).toBe(503);
    expect(fresh.warnings.join()).toContain('every call is denied');
    fresh.way.isAway = false;
    await expect.poll(fresh.decision, { timeout: 10_000 }).toBe('ok');
    expect((await fetch(`${fresh.url}/readyz`)).status).toBe(200);
    const again = await enter({ folder: fresh.folder, isAway: true });
    expect(await again.decision()).toBe('ok');
  });

  it('deny everything at a gateway that cannot read them, and are kept as they are', async () => {
    const [here, there] = [await enter(), await enter()];
    await here.share(NO_WORK);
    const path = join(here.folder, 'shared-rules.json');
    const file = JSON.parse(await readFile(path, 'utf8'));
    const policy = { rules: [{ name: 'later', when: 'moon.is_full', effect: 'howl' }] };
    await writeFile(
      path,
      JSON.stringify({ ...file, shared: { ...file.shared, revision: 2, policy } }),
    );
    await expect.poll(there.decision).toBe('POLICY_DENIED realm:not-known');
    const kept = JSON.parse(await readFile(join(there.folder, 'shared-rules.json'), 'utf8'));
    expect(kept.shared.policy).toEqual(policy);
    await there.share();
    await expect.poll(here.decision).toBe('ok');
  });

  it('and those of a gateway narrow each other: the stricter decision holds', async () => {
    const percy: PolicyAgent = {
      agent_id: 'percy',
      node_id: 'local',
      version: '1',
      tags: [],
      trust_tier: 'org',
    };
    const principal = {
      id: 'ada',
      mode: 'psk',
      tier: 'public',
      scopes: ['agent:*'],
      keyId: 'k',
    } as const;
    const decide = (own: string, realm: string, agent = percy) => {
      const of = (effect: string) =>
        sharedPolicySchema.parse({ rules: [{ name: effect, when: 'true', effect }] });
      const [mine, shared] = [
        new Policy({ ...of(own), untrusted: 'degrade' }),
        new Policy(of(realm), { prefix: 'realm:' }),
      ];
      const call = { depth: 1, time: 0, originTier: 'public' } as const;
      return new Authoriser(mine, () => shared).decide(principal, agent, 'work', call).rule;
    };
    expect(decide('allow', 'deny')).toBe('realm:deny');
    expect(decide('deny', 'allow')).toBe('deny');
    expect(decide('degrade', 'deny')).toBe('realm:deny');
    expect(decide('deny', 'degrade')).toBe('deny');
    expect(decide('allow', 'allow')).toBe('realm:allow');
    // What agents demand of origins is each gateway's own setting.
    expect(decide('allow', 'allow', { ...percy, auth: { mandate: false, min_tier: 'org' } })).toBe(
      'min_tier',
    );
  });
});

interface Joining {
  readonly folder?: string;
  readonly isAway?: boolean;
}

/** The way to the store, which can be cut. */
function toAwayStore(store: RealmStore, way: { readonly isAway: boolean }): RealmStore {
  const assertThere = () => {
    if (way.isAway) throw new Error('The store is away');
  };
  const cut =
    <Args extends unknown[], Result>(run: (...args: Args) => Promise<Result>) =>
    async (...args: Args) => {
      assertThere();
      return await run(...args);
    };
  return {
    read: cut((...args) => store.read(...args)),
    commit: cut((...args) => store.commit(...args)),
    watch: cut((...args) => store.watch(...args)),
    events: cut((...args) => store.events(...args)),
  };
}
