import { describeWithEngine } from '@starloom/testkit';
import { openRedisWorld } from './fixtures/redis-world.ts';
import { MODEL_START } from './store-operations.ts';
import { waitRunsOut } from './support/wait-runs-out.ts';

describeWithEngine('redis', (engine) => {
  waitRunsOut('in Redis', async () => {
    const world = await openRedisWorld(engine().url);
    const { store, advance } = await world.openAt(MODEL_START);
    return {
      store,
      advance,
      async [Symbol.asyncDispose]() {
        await store.close();
        await world[Symbol.asyncDispose]();
      },
    };
  });
});
