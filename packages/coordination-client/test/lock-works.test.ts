import { describe, expect, it } from 'vitest';
import { rpcCodeOf } from '../src/index.ts';
import { ClientWorld } from './support/client-world.ts';

const LOCK_HELD = -32014;

describe('works of one client under locks', () => {
  it('refuses at once what asks for the lock that it is done under', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    for (const mode of ['exclusive', 'shared'] as const) {
      const lock = { session_id, resource: 'x', mode };
      const nested = client.withLock(lock, async () => {
        await Promise.resolve();
        return await client.withLock(lock, async () => 'never');
      });
      await expect(nested).rejects.toMatchObject({
        code: 'POLICY_DENIED',
        details: { rpc: LOCK_HELD, reason: 'deadlock', resource: 'x', fix: expect.any(String) },
      });
    }
    expect((await client.locks.status({ session_id })).locked).toBe(false);
  });

  it('lets a work take another lock, and what it left running the same one later', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const lock = { session_id, resource: 'x' };
    const left: Promise<string>[] = [];
    const inner = await client.withLock(lock, async () => {
      left.push(over.then(() => client.withLock(lock, async () => 'later')));
      return await client.withLock({ session_id, resource: 'y' }, async () => 'inside');
    });
    expect(inner).toBe('inside');
    end();
    expect(await Promise.all(left)).toEqual(['later']);
  });

  it('waits behind another for no longer than wait_ms, and then is refused as by the server', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: time, resolve: end } = Promise.withResolvers<void>();
    const first = client.withLock({ session_id }, () => time);
    const refused = { code: 'OVERLOADED', details: { rpc: LOCK_HELD, reason: 'lock_held' } };
    for (const wait_ms of [0, 20]) {
      const second = client.withLock({ session_id, wait_ms }, async () => 'never');
      await expect(second).rejects.toMatchObject(refused);
    }
    const third = client.withLock({ session_id }, async () => 'in time');
    end();
    await first;
    expect(await third).toBe('in time');
  });

  it('is not waited for any more by who takes turns, when the client is closed', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: time, resolve: end } = Promise.withResolvers<void>();
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const first = client.withLock({ session_id }, () => {
      enter();
      return time;
    });
    await entered;
    const second = client.withLock({ session_id }, async () => 'never');
    await client.close();
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
    end();
    await expect(first).rejects.toMatchObject({ details: { reason: 'lease_lost' } });
  });

  it('gives the result of a work that ends its session, also when the answer is late', async () => {
    await using at = new ClientWorld();
    const client = await at.open('a');
    const lost: unknown[] = [];
    client.on('lease_lost', (lock) => lost.push(lock));
    for (const isCut of [false, true]) {
      const { session_id } = await client.sessions.create({});
      const result = await client.withLock({ session_id }, async () => {
        if (isCut) cutAtNextAnswer(at);
        await client.sessions.end({ session_id });
        return 'result';
      });
      expect(result).toBe('result');
    }
    expect(lost).toEqual([]);
  });

  it('still holds its lock when it may not end the session', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id } = await begin(at);
    const work = client.withLock({ session_id }, async ({ assertHeld, signal }) => {
      await expect(client.sessions.end({ session_id })).rejects.toMatchObject({
        code: 'AUTH_DENIED',
      });
      assertHeld();
      await owner.sessions.end({ session_id });
      await expect.poll(() => signal.aborted).toBe(true);
    });
    await expect(work).rejects.toMatchObject({ details: { reason: 'lease_lost' } });
  });

  it('waits at the server for what is left of wait_ms only', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const asked: unknown[] = [];
    at.link.onSend = ({ method, params }) => {
      if (method === 'memory_locker.acquire') asked.push(params.wait_ms);
      return true;
    };
    const begun = performance.now();
    const lock = { session_id, wait_ms: 10_000 };
    const first = client.withLock(lock, async () => {
      await expect.poll(() => performance.now() - begun).toBeGreaterThan(50);
    });
    await Promise.all([first, client.withLock(lock, async () => undefined)]);
    expect(asked).toHaveLength(2);
    expect(Number(asked[1])).toBeLessThan(10_000 - 40);
  });

  it('has those that share inside together', async () => {
    await using at = new ClientWorld();
    const { client, session_id } = await begin(at);
    const { promise: all, resolve: onAll } = Promise.withResolvers<void>();
    let inside = 0;
    const work = async () => {
      inside += 1;
      if (inside === 3) onAll();
      await all;
    };
    const lock = { session_id, mode: 'shared' } as const;
    await Promise.all([1, 2, 3].map(() => client.withLock(lock, work)));
    expect((await client.locks.status({ session_id })).locked).toBe(false);
  });

  it('lets one that shares wait for another agent, who waits for those inside', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id } = await begin(at);
    const { promise: time, resolve: end } = Promise.withResolvers<void>();
    const order: string[] = [];
    const { promise: entered, resolve: onEntered } = Promise.withResolvers<void>();
    const shared = { session_id, mode: 'shared' } as const;
    const first = client.withLock(shared, async () => {
      onEntered();
      await time;
      order.push('first');
    });
    await entered;
    const other = owner.withLock({ session_id }, async () => void order.push('other'));
    await expect
      .poll(async () => (await client.locks.status({ session_id })).waiting)
      .toHaveLength(1);
    const second = client.withLock(shared, async () => void order.push('second'));
    const isEarly = await Promise.race([second.then(() => true), client.agents.list({})]);
    expect(isEarly).not.toBe(true);
    end();
    await Promise.all([first, other, second]);
    expect(order).toEqual(['first', 'other', 'second']);
  });

  it('still refuses a circle of agents at once', async () => {
    await using at = new ClientWorld();
    const { client, owner, session_id } = await begin(at);
    const [x, y] = [
      { session_id, resource: 'x' },
      { session_id, resource: 'y' },
    ];
    const { lock_token } = await owner.locks.acquire(y);
    const work = client.withLock(x, async () => {
      const waiting = owner.locks.acquire({ ...x, wait_ms: 10_000 });
      await expect
        .poll(async () => (await client.locks.status({ session_id })).waiting)
        .toHaveLength(1);
      const refused = client.withLock({ ...y, mode: 'shared' }, async () => 'never');
      expect(rpcCodeOf(await refused.catch((error: unknown) => error))).toBe(LOCK_HELD);
      return { waiting };
    });
    const { waiting } = await work;
    await waiting;
    await owner.locks.release({ ...y, lock_token });
  });
});

function cutAtNextAnswer({ link }: ClientWorld): void {
  link.onAnswer = ({ result }) => {
    if (result === undefined) return true;
    link.onAnswer = () => true;
    link.cut();
    return false;
  };
}

async function begin(at: ClientWorld) {
  const owner = await at.open('owner', at.anotherLink());
  const { session_id } = await owner.sessions.create({});
  const client = await at.open('a');
  await client.sessions.join({ session_id });
  return { owner, client, session_id };
}
