import { type Adapter, FabricError, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { expect, it } from 'vitest';
import { eventually, runCall } from './fixtures/agent-world.ts';
import { EditorWorld, editorAgent, hostileAgent } from './fixtures/editor-world.ts';

const CALLS = 100;
const AT_ONCE = 10;

it('leaves no process of an editor agent behind, however its calls are cancelled', async () => {
  const world = EditorWorld.open();
  const options = { grace_ms: 100, processes: 2 };
  const good = world.opened({ ...editorAgent(), options });
  const stuck = world.opened({ ...hostileAgent('never ends'), options });
  const codes = new Set<string>();
  let next = 0;
  const work = async () => {
    for (let at = next++; at < CALLS; at = next++) {
      codes.add(await cancelled(at % 4 === 0 ? stuck : good, (at * 37) % 120));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  // A process that does not end a turn is replaced, and the other calls that it has then end with it.
  expect([...codes].filter((code) => code !== 'AGENT_OFFLINE')).toEqual(['CANCELLED']);
  await expect.poll(() => world.running().length, eventually).toBeLessThanOrEqual(4);
  expect((await runCall(good, 'echo still here')).answer).toBe('still here');
  await Promise.all([good.close(), stuck.close()]);
  expect(world.running()).toEqual([]);
});

async function cancelled(agent: Adapter, afterMs: number): Promise<string> {
  const control = new AbortController();
  const { signal } = control;
  const cancel = () => control.abort(new FabricError('CANCELLED', 'Never mind'));
  const timer = setTimeout(cancel, afterMs);
  try {
    await Array.fromAsync(agent.call(exampleEnvelope('hang'), { signal, log: silentLog }));
    return 'answered';
  } catch (error) {
    return FabricError.from(error).code;
  } finally {
    clearTimeout(timer);
  }
}
