import { FabricError, type Log, silentLog } from '@starloom/core';
import { timerWheelOf } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { callTools, echo, openWorld, scripted, textOf, until } from './world.ts';

const asking = { ...echo, approval: true };
const call = callTools({ name: 'test:echo', args: { text: 'hi' } });

/** Remembers what was warned about. */
function listening(): { log: Log; warnings: string[] } {
  const warnings: string[] = [];
  const log: Log = {
    ...silentLog,
    warn: (_, message) => void warnings.push(message),
    error: (_, message) => void warnings.push(message),
    child: () => log,
  };
  return { log, warnings };
}

describe('the approval of a call', () => {
  it('costs the turn no time, however long a person thinks', async () => {
    const clock = {
      time: 0,
      monotonic() {
        return this.time;
      },
      now: () => 0,
    };
    const approve = async () => {
      clock.time += 3_600_000;
      timerWheelOf(clock).run();
      return true;
    };
    await using world = await openWorld({
      provider: scripted(call, 'Done.'),
      tools: [asking],
      approve,
      clock,
      agent: { limits: { seconds: 1 } },
    });
    const { segments } = await world.agent.turn('Say hi.');
    expect(textOf(segments)).toBe('Done.');
  });

  it('ends with the turn that is cancelled, and the log has no warning', async () => {
    const { log, warnings } = listening();
    const cancel = new AbortController();
    await using world = await openWorld({
      provider: scripted(call),
      tools: [asking],
      approve: () => new Promise(() => {}),
      log,
    });
    const turn = world.agent.turn('Say hi.', { signal: cancel.signal });
    await until(() => world.eventsOf('SAFETY:APPROVAL').length > 0);
    cancel.abort(new FabricError('CANCELLED', 'enough'));
    await expect(turn).rejects.toMatchObject({ code: 'CANCELLED', message: 'enough' });
    expect(world.eventsOf('SAFETY:DENIED')[0]?.reasons.at(-1)).toBe('it was cancelled');
    expect(warnings).toEqual([]);
  });

  it('is a no when asking fails, and the log warns', async () => {
    const { log, warnings } = listening();
    const approve = () => Promise.reject(new Error('the terminal is gone'));
    const provider = scripted(call, 'As you wish.');
    await using world = await openWorld({ provider, tools: [asking], approve, log });
    await world.agent.turn('Say hi.');
    expect(world.eventsOf('SAFETY:DENIED')[0]?.reasons.at(-1)).toBe('no approval came');
    expect(warnings).toEqual(['no approval came']);
  });
});
