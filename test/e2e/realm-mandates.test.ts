import { manifestSchema } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Member, openRealmWorld } from './realm-world.ts';

describe('mandates at gateways that share a store', () => {
  let world: Awaited<ReturnType<typeof openRealmWorld>>;

  beforeEach(async () => {
    world = await openRealmWorld();
  });

  afterEach(() => world[Symbol.asyncDispose]());

  const target = manifestSchema.parse({
    agent_id: 'coder',
    description: 'writes code',
    endpoint: { transport: 'http', uri: 'http://localhost:1' },
    capabilities: [{ name: 'work' }],
    trust_tier: 'org',
    auth: { mandate: true },
  });
  const mintAt = async ({ identity, passport }: Member) => {
    const principal: Principal = await identity.passports.verify(await passport('ada'));
    return await identity.mint.mint({
      principal,
      target,
      capability: 'work',
      traceId: 'trace',
      maxDepth: 4,
      budget: { calls: 10, ms: 60_000 },
    });
  };

  it('[G13] are accepted by another one while their call lasts, and refused when it is over', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const { token, release } = await mintAt(here);
    expect(await there.tryWith('mandate', token)).toBe('ok');
    const principal = await there.identity.mandates.verify(token);
    expect(there.identity.authenticator.isCurrent(principal)).toBe(true);
    release();
    expect(await here.tryWith('mandate', token)).toBe('replayed');
    // One that is open since, a WebSocket say, ends too.
    await expect.poll(() => there.identity.authenticator.isCurrent(principal)).toBe(false);
    expect(await there.tryWith('mandate', token)).toBe('replayed');
  });

  it('whose call is over are refused by one that sees them for the first time', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const { token, claims, release } = await mintAt(here);
    release();
    const key = claims.jti;
    await expect
      .poll(async () => (await world.store.read('realm:ended', [key])).entries.size)
      .toBe(1);
    expect(await there.tryWith('mandate', token)).toBe('replayed');
  });

  it('end by their time while the store is away, and by their call when it is back', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const { token, release } = await mintAt(here);
    here.realm.isAway = true;
    there.realm.isAway = true;
    release();
    expect(await there.tryWith('mandate', token)).toBe('ok');
    expect(there.warnings).toContain('mandates of other gateways are accepted until they expire');
    here.realm.isAway = false;
    there.realm.isAway = false;
    await expect.poll(() => there.tryWith('mandate', token)).toBe('replayed');
  });

  it('that were in flight when their gateway stops are over for the others', async () => {
    const [here, there] = [await world.join('a'), await world.join('b')];
    const { token, release } = await mintAt(here);
    expect(await there.tryWith('mandate', token)).toBe('ok');
    release();
    await here.close();
    await expect.poll(() => there.tryWith('mandate', token)).toBe('replayed');
  });

  it('leave nothing in the store after they have expired', async () => {
    const here = await world.join('a');
    const { release } = await mintAt(here);
    release();
    const size = async () => (await world.store.read('realm:ended')).entries.size;
    await expect.poll(size).toBe(1);
    world.clock.advance(10 * 60_000);
    expect(await size()).toBe(0);
  });
});
