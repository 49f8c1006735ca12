import { silentLog } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { callTools, echo, openWorld, scripted, textOf, tool } from '../core/world.ts';
import { manyTools } from './many-tools.ts';

const FIND = 'tools:find';
const tool_search = { above: 20, top: 4, always: ['test:echo'] };
const tools = () => [...manyTools(), echo];

type Provider = ReturnType<typeof scripted>;
const offeredIn = ({ asked }: Provider) => asked.map(({ context }) => [...context.tools.keys()]);

describe('the tools that the model is offered', () => {
  it('are all of them while they are few', async () => {
    const provider = scripted('Yes.');
    await using world = await openWorld({ provider, tools: [echo] });
    await world.agent.turn('Hello.');
    expect(offeredIn(provider)[0]).toContain('test:echo');
    expect(offeredIn(provider)[0]).not.toContain(FIND);
    expect(world.agent.tools().has(FIND)).toBe(false);
  });

  it('[P9] are those that fit the message, of thousands', async () => {
    const provider = scripted('Sunny.');
    await using world = await openWorld({ provider, tools: tools(), agent: { tool_search } });
    await world.agent.turn('What is the weather like in Taipei?');
    const [offered = []] = offeredIn(provider);
    expect(offered.slice(0, 2)).toEqual([FIND, 'test:echo']);
    expect(offered).toContain('weather:current');
    expect(offered).toHaveLength(2 + tool_search.top);
  });

  it('grow by those that the model looks for, and stay in their order', async () => {
    const looks = callTools({ name: FIND, args: { query: 'track a parcel' } });
    const provider = scripted(looks, 'Found.', 'Booked.');
    await using world = await openWorld({ provider, tools: tools(), agent: { tool_search } });
    const { sessionId } = await world.agent.turn('What is the weather like in Taipei?');
    await world.agent.turn('Book a meeting with Bob on Monday', { sessionId });
    const [first = [], second = [], third = []] = offeredIn(provider);
    expect(first).not.toContain('post:track_parcel');
    expect(second.slice(0, first.length)).toEqual(first);
    expect(second).toContain('post:track_parcel');
    expect(third.slice(0, second.length)).toEqual(second);
    expect(third).toContain('calendar:create_event');
    const [result] = world.eventsOf('EXEC:TOOL_RESULT');
    expect(textOf(result?.result.output ?? [])).toMatch(/^Offered from the next step on: post:/);
  });

  it('never become more than without a choice', async () => {
    const provider = scripted(...Array.from({ length: 7 }, () => 'Done.'));
    await using world = await openWorld({ provider, tools: tools(), agent: { tool_search } });
    const { sessionId } = await world.agent.turn('Send an email to Ann');
    for (const [n, question] of ['ops', 'db', 'image', 'travel', 'home', 'forge'].entries()) {
      await world.agent.turn(`${question} ${n} deploy resize lights flights`, { sessionId });
    }
    const sizes = offeredIn(provider).map(({ length }) => length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(tool_search.above + 2);
  });

  it('are named when they should be there always, and are not', async () => {
    const missing: unknown[] = [];
    const warn = ({ tool }: { tool?: unknown }) => void missing.push(tool);
    await using world = await openWorld({
      provider: scripted('Yes.', 'Yes.'),
      tools: tools(),
      agent: { tool_search: { above: 20, always: ['fs:red_file'] } },
      log: { ...silentLog, warn },
    });
    await world.agent.turn('Hello.');
    await world.agent.turn('Hello.');
    expect(missing).toEqual(['fs:red_file']);
  });

  it('are not all that can be called: a call by name runs', async () => {
    const provider = scripted(callTools({ name: 'bank:transfer' }), 'Done.');
    const all = [...manyTools().filter(({ name }) => name !== 'bank:transfer')];
    const transfer = tool('bank:transfer', () => 'transferred');
    await using world = await openWorld({
      provider,
      tools: [...all, transfer],
      agent: { tool_search: { above: 20 } },
    });
    await world.agent.turn('Play some jazz');
    const [result] = world.eventsOf('EXEC:TOOL_RESULT');
    expect(textOf(result?.result.output ?? [])).toBe('transferred');
  });

  it('include those that the session used in an earlier process', async () => {
    await using folder = await temporaryFolder();
    const given = { tools: tools(), agent: { tool_search }, stateFolder: folder.path };
    let session: string;
    {
      const provider = scripted(callTools({ name: 'music:play' }), 'Playing.');
      await using world = await openWorld({ ...given, provider });
      session = (await world.agent.turn('Play some jazz')).sessionId;
    }
    const provider = scripted('Again.');
    await using world = await openWorld({ ...given, provider });
    await world.agent.turn('Once more, please', { sessionId: session });
    expect(offeredIn(provider)[0]).toContain('music:play');
  });
});
