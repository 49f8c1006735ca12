import { createTrace, type Log, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { EventBus } from '../../src/core/event-bus.ts';
import type { AgentEvent } from '../../src/index.ts';
import { callTools, echo, openWorld, scripted, until } from './world.ts';

const trace = createTrace();
const text: AgentEvent = { type: 'STREAM:TEXT', at: 0, sessionId: 's', trace, data: { text: 'a' } };
const input: AgentEvent = {
  type: 'INPUT:COMMAND',
  at: 0,
  sessionId: 's',
  trace,
  data: { text: '/x' },
};

describe('the event bus', () => {
  it('notifies the listeners of a name, and those of everything', () => {
    const bus = new EventBus(silentLog);
    const heard: string[] = [];
    bus.on('STREAM:TEXT', ({ data }) => heard.push(`name ${data.text}`));
    bus.onAny(({ type }) => heard.push(`any ${type}`));
    bus.emit(text);
    bus.emit(input);
    expect(heard).toEqual(['name a', 'any STREAM:TEXT', 'any INPUT:COMMAND']);
  });

  it('stops notifying a listener that has left, and no other', () => {
    const bus = new EventBus(silentLog);
    let heard = 0;
    const listener = () => {
      heard += 1;
    };
    const stop = bus.onAny(listener);
    bus.onAny(listener);
    stop();
    stop();
    bus.emit(text);
    expect(heard).toBe(1);
  });

  it('survives listeners that throw or reject: the turn goes on, the log says so', async () => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => warnings.push(message) };
    const provider = scripted(callTools({ name: 'test:echo', args: { text: 'a' } }), 'Done.');
    await using world = await openWorld({ provider, tools: [echo], log });
    world.agent.bus.onAny(() => {
      throw new Error('not my day');
    });
    world.agent.bus.on('STREAM:TEXT', () => Promise.reject(new Error('nor mine')));
    const { steps } = await world.agent.turn('Go.', {
      onEvent: () => {
        throw new Error('nor his');
      },
    });
    expect(steps).toBe(2);
    await until(() => warnings.length > 10);
    expect(new Set(warnings)).toEqual(new Set(['a listener of the bus failed']));
  });

  it('shows everything a turn does, in order, with session and trace', async () => {
    const provider = scripted(callTools({ name: 'test:echo', args: { text: 'a' } }), 'Done.');
    await using world = await openWorld({ provider, tools: [echo] });
    const own: AgentEvent[] = [];
    const { trace, sessionId } = await world.agent.turn('Go.', {
      onEvent: (event) => own.push(event),
    });
    expect(own.map(({ type }) => type)).toEqual([
      'INPUT:MESSAGE',
      'EXEC:STEP',
      'STREAM:STEP',
      'EXEC:MODEL',
      'EXEC:TOOL_CALL',
      'SAFETY:VERDICT',
      'EXEC:TOOL_RESULT',
      'EXEC:STEP',
      'STREAM:TEXT',
      'STREAM:STEP',
      'EXEC:MODEL',
      'STREAM:END',
    ]);
    expect(own).toEqual(world.events);
    for (const event of own) expect(event).toMatchObject({ sessionId, trace });
  });

  it('ends a turn that fails with STREAM:ERROR', async () => {
    await using world = await openWorld({ provider: scripted(new Error('no')) });
    await expect(world.agent.turn('Go.')).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' });
    expect(world.events.at(-1)).toMatchObject({
      type: 'STREAM:ERROR',
      data: { code: 'UPSTREAM_ERROR' },
    });
  });
});
