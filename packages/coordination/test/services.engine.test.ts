import { ManualClock } from '@starloom/core/testing';
import { describeWithEngine } from '@starloom/testkit';
import { it } from 'vitest';
import { createCoordination } from '../src/index.ts';
import { openRedisWorld } from './fixtures/redis-world.ts';
import { workday } from './support/workday.ts';

describeWithEngine('redis', (engine) => {
  it('agents work together on two gateways that share a Redis', async () => {
    await using world = await openRedisWorld(engine().url);
    const clock = new ManualClock();
    const { store, advance } = await world.openAt(clock.now());
    const second = await world.open({ timeKey: 'time of tests' });
    const gateways = [
      createCoordination({ store, clock }),
      createCoordination({ store: second, clock }),
    ] as const;
    const pass = async (ms: number) => {
      clock.advance(ms);
      await advance(ms);
    };
    await workday({ gateways, advance: pass });
    for (const gateway of gateways) await gateway.close();
    await store.close();
    await second.close();
  });
});
