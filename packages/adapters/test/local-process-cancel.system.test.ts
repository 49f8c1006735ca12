import { chmodSync, writeFileSync } from 'node:fs';
import { type Adapter, FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { expect, it, onTestFinished } from 'vitest';
import { AgentWorld, contractAgent, eventually } from './fixtures/agent-world.ts';

const CALLS = 500;
const AT_ONCE = 20;
const TOKEN = `echo '{"type":"token","data":{"text":"a"}}'`;

it('[G25] leaves the process table clean after 500 calls that were cancelled at random', async () => {
  const world = AgentWorld.open();
  const options = { grace_ms: 100 };
  const agents: Adapter[] = [
    world.adapter({ args: ['-c', `${TOKEN}; exec sleep 1000`], options }),
    world.adapter({ args: ['-c', `trap '' TERM; ${TOKEN}; sleep 1000 & sleep 1000`], options }),
    world.adapter({ args: ['-c', `setsid sleep 1000 & ${TOKEN}; wait`], options }),
    world.adapter({ command: commandLine(world), options: { ...options, preset: 'opencode' } }),
    world.adapter({ ...contractAgent(), options: { ...options, pooled: true } }),
  ];
  onTestFinished(async () => void (await Promise.all(agents.map((agent) => agent.close()))));
  const random = randomNumbers(2_026);
  const outcomes = new Map<string, number>();
  let next = 0;
  const work = async () => {
    for (let at = next++; at < CALLS; at = next++) {
      const outcome = await cancelled(agents[at % agents.length] as Adapter, random);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect([...outcomes.keys()].sort()).toEqual(['CANCELLED', 'left']);
  expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(CALLS);
  await Promise.all(agents.map((agent) => agent.close()));
  await expect.poll(() => world.running(), eventually).toEqual([]);
});

/** One of those known by name, which starts a child of its own. */
function commandLine(world: AgentWorld): string {
  const line = '{"type":"text","part":{"text":"a"}}';
  const path = world.file('opencode');
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null; sleep 1000 & echo '${line}'; wait\n`);
  chmodSync(path, 0o755);
  return path;
}

/** By the signal, before the start or later, or by a consumer that stops reading. */
async function cancelled(agent: Adapter, random: () => number): Promise<string> {
  const control = new AbortController();
  const { signal } = control;
  const cancel = () => control.abort(new FabricError('CANCELLED', 'Never mind'));
  const leaves = random() < 0.3;
  const timer = setTimeout(cancel, leaves ? 5_000 : random() * 60);
  try {
    for await (const { type } of agent.call(exampleEnvelope('hang'), { signal, log: silentLog })) {
      if (leaves && type === 'token') return 'left';
    }
    return 'answered';
  } catch (error) {
    return FabricError.from(error).code;
  } finally {
    clearTimeout(timer);
  }
}

/** The same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
