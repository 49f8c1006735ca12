import { describeWithEngine, openEngine } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import type { CoordinationStore } from '../src/coordination-store.ts';
import { recordedLog } from './fixtures/recorded-log.ts';
import { openRedisWorld, type RedisWorld } from './fixtures/redis-world.ts';
import { openTcpProxy } from './fixtures/tcp-proxy.ts';

const increment = { writes: [{ kind: 'increment', key: 'n', by: 1 }], event: 'counted' } as const;
const patience = { timeout: 20_000, interval: 20 };
const ourKeys = '~starloom:coordination:*';

function unable(fix: RegExp) {
  const details = { reason: 'engine_unavailable', fix: expect.stringMatching(fix) };
  return { code: 'OVERLOADED', details };
}

describeWithEngine('redis', (engine) => {
  const urlOf = (user: string, password = 'secret') =>
    `redis://${user}:${password}@127.0.0.1:${engine().port}`;

  describe('a store', () => {
    it.each([
      ['use our keys', ['~app:*', '+@all'], /ACL SETUSER/],
      ['run scripts', [ourKeys, '+@all', '-evalsha'], /ACL SETUSER/],
      ['write in scripts', [ourKeys, '+@all', '-hset'], /ACL SETUSER/],
      ['ask how Redis is set up', [ourKeys, '+@all', '-info'], /ACL SETUSER/],
    ])('that may not %s is not opened, and says what to allow', async (_, rules, fix) => {
      await using world = await openRedisWorld(engine().url);
      await setUser(world, 'bound', rules);
      await expect(world.open({ url: urlOf('bound') })).rejects.toMatchObject(unable(fix));
    });

    it('that may not write any more says so with each write and each check', async () => {
      await using world = await openRedisWorld(engine().url);
      await setUser(world, 'once-free', [ourKeys, '+@all']);
      const store = await world.open({ url: urlOf('once-free') });
      expect(await store.check()).toEqual([]);
      await setUser(world, 'once-free', [ourKeys, '+@all', '-hset']);
      await expect(store.commit('p', increment)).rejects.toMatchObject(unable(/ACL SETUSER/));
      await expect(store.check()).rejects.toMatchObject(unable(/ACL SETUSER/));
      await setUser(world, 'once-free', [ourKeys, '+@all']);
      expect(await store.check()).toEqual([]);
      await store.close();
    });

    it('needs no more than what its error says to allow', async () => {
      await using world = await openRedisWorld(engine().url);
      await setUser(world, 'as-told', [ourKeys, '+@all', '-@admin']);
      const store = await world.open({ url: urlOf('as-told') });
      const seen: number[] = [];
      await store.watch('p', (version) => seen.push(version));
      await store.commit('p', increment);
      await expect.poll(() => seen, patience).toEqual([1]);
      expect(await store.check()).toEqual([]);
      await store.close();
    });
  });

  describe('a wrong or missing password', () => {
    it.each([
      ['wrong', () => urlOf('locked', 'guess')],
      ['of an unknown user', () => urlOf('nobody')],
    ])('that is %s stops the start, and the error names it', async (_, url) => {
      await using world = await openRedisWorld(engine().url);
      await setUser(world, 'locked', [ourKeys, '+@all']);
      const opened = world.open({ url: url(), deadlineMs: 300 });
      await expect(opened).rejects.toMatchObject(unable(/password.*coordination\.url.*env:/));
    });

    it('stops the start also when the password is missing', async () => {
      await using world = await openRedisWorld(engine().url);
      await world.client.configSet('requirepass', 'secret');
      const opened = world.open({ deadlineMs: 300 });
      await expect(opened).rejects.toMatchObject(unable(/password.*coordination\.url.*env:/));
      await world.client.configSet('requirepass', '');
    });
  });

  describe('a store on a replica', () => {
    it('is not opened, and says to name the primary', async () => {
      await using world = await openRedisWorld(engine().url);
      await using primary = await openEngine('redis');
      await world.client.replicaOf('127.0.0.1', primary.port);
      await expect(world.open()).rejects.toMatchObject(unable(/primary/));
      await world.client.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    });

    it('says so when it is checked, and follows its address to the new primary', async () => {
      await using world = await openRedisWorld(engine().url);
      await using primary = await openEngine('redis');
      await using elsewhere = await openRedisWorld(primary.url);
      await using proxy = await openTcpProxy(engine().port);
      const store = await world.open({ url: `redis://127.0.0.1:${proxy.port}` });
      const seen: number[] = [];
      await store.watch('p', (version) => seen.push(version));
      await store.commit('p', increment);
      await world.client.replicaOf('127.0.0.1', primary.port);
      await expect(store.check()).rejects.toMatchObject(unable(/primary/));

      proxy.leadTo(primary.port);
      await expect.poll(() => isWell(store), patience).toBe(true);
      await world.client.sendCommand(['REPLICAOF', 'NO', 'ONE']);
      const writer = await elsewhere.open();
      const { length } = seen;
      expect(await writer.commit('p', increment)).toMatchObject({ ok: true });
      await expect.poll(() => seen.length, patience).toBeGreaterThan(length);
      await Promise.all([store.close(), writer.close()]);
    });
  });

  describe('a store that cannot read streams', () => {
    it('warns once, and says so when it is checked, until it may', async () => {
      await using world = await openRedisWorld(engine().url);
      await setUser(world, 'deaf', [ourKeys, '+@all', '-xread']);
      const { log, warnings } = recordedLog();
      const store = await world.open({ url: urlOf('deaf'), log });
      const writer = await world.open();
      const seen: number[] = [];
      await store.watch('p', (version) => seen.push(version));
      await expect.poll(() => isWell(store), patience).toBe(false);
      await expect(store.check()).rejects.toMatchObject(unable(/ACL SETUSER/));
      await writer.commit('p', increment);
      await expect.poll(() => seen, patience).toContain(1);
      expect(warnings).toMatchObject([{ problem: /xread/, fix: /ACL SETUSER/ }].map(asMatchers));

      await setUser(world, 'deaf', [ourKeys, '+@all']);
      await expect.poll(() => isWell(store), patience).toBe(true);
      await writer.commit('p', increment);
      await expect.poll(() => seen, patience).toContain(2);
      await Promise.all([store.close(), writer.close()]);
    });

    it('warns in the same way where Redis allows it one connection', async () => {
      await using world = await openRedisWorld(engine().url);
      await using proxy = await openTcpProxy(engine().port);
      proxy.allow(1);
      const { log, warnings } = recordedLog();
      const url = `redis://127.0.0.1:${proxy.port}`;
      const store = await world.open({ url, log, deadlineMs: 300 });
      await store.watch('p', () => {});
      await expect.poll(() => isWell(store), patience).toBe(false);
      await expect(store.check()).rejects.toMatchObject(unable(/two connections/));
      expect(warnings).toMatchObject([{ problem: /./, fix: /two connections/ }].map(asMatchers));
      proxy.heal();
      await expect.poll(() => isWell(store), patience).toBe(true);
      await store.close();
    });
  });

  describe('a store on a Redis that drops keys when it is full', () => {
    it.each(['allkeys-lru', 'volatile-ttl'])('warns of the policy %s', async (policy) => {
      await using world = await openRedisWorld(engine().url);
      const { log, warnings } = recordedLog();
      const limit = { maxmemory: '100mb', 'maxmemory-policy': policy };
      await world.client.configSet(limit);
      const store = await world.open({ log });
      const fix = expect.stringContaining('noeviction');
      expect(warnings).toMatchObject([{ fix, message: expect.stringContaining(policy) }]);
      expect(await store.check()).toEqual([{ fix, problem: expect.stringContaining(policy) }]);
      await world.client.configSet({ maxmemory: '0' });
      expect(await store.check()).toEqual([]);
      await world.client.configSet({ 'maxmemory-policy': 'noeviction' });
      await store.close();
    });
  });

  it('cannot write while Redis is full, and says so when it is checked', async () => {
    await using world = await openRedisWorld(engine().url);
    const store = await world.open();
    await world.client.configSet('maxmemory', '1');
    await expect(store.check()).rejects.toMatchObject(unable(/maxmemory/));
    const { log, warnings } = recordedLog();
    const another = await world.open({ log });
    expect(warnings).toMatchObject([{ fix: expect.stringContaining('maxmemory') }]);
    await world.client.configSet('maxmemory', '0');
    expect(await store.check()).toEqual([]);
    await Promise.all([store.close(), another.close()]);
  });
});

/** Whatever rules it had before are gone. */
async function setUser({ client }: RedisWorld, name: string, rules: readonly string[]) {
  const command = ['ACL', 'SETUSER', name, 'reset', 'on', '>secret', '&*', ...rules];
  await client.sendCommand(command);
}

function isWell(store: CoordinationStore): Promise<boolean> {
  return store.check().then(
    () => true,
    () => false,
  );
}

function asMatchers(fields: Readonly<Record<string, RegExp>>) {
  const entries = Object.entries(fields);
  return Object.fromEntries(entries.map(([name, text]) => [name, expect.stringMatching(text)]));
}
