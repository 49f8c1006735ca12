import { openWorld } from './fixtures/embedded-world.ts';
import { waitRunsOut } from './support/wait-runs-out.ts';

waitRunsOut('in a file', async () => {
  const world = await openWorld();
  const store = await world.open();
  const advance = async (ms: number) => world.clock.advance(ms);
  return {
    store,
    advance,
    async [Symbol.asyncDispose]() {
      await store.close();
      await world[Symbol.asyncDispose]();
    },
  };
});
