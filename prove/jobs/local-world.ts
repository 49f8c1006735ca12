// Everything in one process and in memory: quick, for engines that are broken on purpose. A runner that
// "crashes" is cut off from its engine for good, as a process is that was killed.

import type { JobEngine } from '@starloom/core';
import { createMemoryJobEngine } from '@starloom/jobs';
import type { Random } from '../coordination/random.ts';
import { FlakyAgent } from './flaky-agent.ts';
import { createRunner, openLocalDoor } from './gateway.ts';
import type { World } from './world.ts';

const LEASE_MS = 150;

export async function openLocalWorld(
  random: Random,
  breakIt: (engine: JobEngine) => JobEngine,
): Promise<World> {
  const agent = await FlakyAgent.open(random.fork());
  const engine = breakIt(createMemoryJobEngine());
  let gateway = startGateway(engine);
  return {
    name: 'local',
    versions: {},
    agent,
    doors: [openLocalDoor(engine)],
    onDeath: () => {},
    faults: {
      async kill_gateway() {
        gateway.cutOff();
        gateway = startGateway(engine);
      },
    },
    async [Symbol.asyncDispose]() {
      await gateway.runner.stop();
      await engine.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

function startGateway(engine: JobEngine) {
  let isCutOff = false;
  const never = new Promise<never>(() => {});
  const wire = new Proxy(engine, {
    get(target, name: keyof JobEngine) {
      const method = target[name];
      if (typeof method !== 'function') return method;
      if (name === 'watch' || name === 'onReady') return method.bind(target);
      return (...args: unknown[]) => {
        if (isCutOff) return never;
        const call = method as (...values: unknown[]) => Promise<unknown>;
        return call.apply(target, args).then((value) => (isCutOff ? never : value));
      };
    },
  });
  const runner = createRunner({ engine: wire, leaseMs: LEASE_MS });
  runner.start();
  return {
    runner,
    cutOff() {
      isCutOff = true;
      // Only its timers end; what it had under way stays as it is, for ever.
      void runner.stop();
    },
  };
}
