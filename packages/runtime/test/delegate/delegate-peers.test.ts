import type { IAgentContext } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { openServed } from '../a2a/served.ts';
import { callTools, openWorld, scripted, textOf, tool } from '../core/world.ts';
import { openFakePeer, task, update } from '../peers/fake-peer.ts';

const delegate = (...to: string[]) =>
  callTools(
    ...to.map((name) => ({ id: name, name: 'agent:delegate', args: { to: name, task: 'Do it.' } })),
  );

const helpers = [
  {
    name: 'reader',
    description: 'Reads.',
    provider: { kind: 'scripted', script: ['Read by the helper.'] },
  },
];

describe('a task for a peer', () => {
  it('[S7] [S9] is given by the same call as one for a helper, and its result is untrusted data', async () => {
    await using served = await openServed({ provider: scripted('Done by the peer.') });
    const toml = { a2a: { peers: [{ name: 'percy', card: served.url }] } };
    await using world = await openWorld({
      provider: scripted(delegate('reader', 'percy'), 'Both are there.'),
      agent: { helpers },
      toml,
    });
    await world.agent.turn('Go.', { sessionId: 's' });
    const outputs = world
      .eventsOf('EXEC:TOOL_RESULT')
      .map(({ call, result }) => [call.id, textOf(result.output)]);
    expect(Object.fromEntries(outputs)).toEqual({
      reader: 'Read by the helper.',
      percy: 'Done by the peer.',
    });
    const blocks = (await world.agent.history('s')).filter(({ role }) => role === 'tool');
    expect(blocks).toMatchObject([
      { trust: 'untrusted', type: 'data', source: 'helper:reader' },
      { trust: 'untrusted', type: 'data', source: 'peer:percy' },
    ]);
    const kinds = world.eventsOf('EXEC:DELEGATED').map(({ kind, hop }) => [kind, hop.depth]);
    expect(kinds.toSorted()).toEqual([
      ['helper', 2],
      ['peer', 2],
    ]);
  });

  it('[S6] can be answered when the peer asks', async () => {
    const act = tool('test:act', () => 'acted', { approval: true });
    const asks = scripted(callTools({ id: '1', name: 'test:act' }), 'All right.');
    await using served = await openServed({ provider: asks, tools: [act] });
    const answer = (_: string, { blocks }: IAgentContext) => {
      const [, named] = /with the task \\"([\w-]+)/.exec(JSON.stringify(blocks?.at(-1))) ?? [];
      return callTools({ id: '2', name: 'peers:resume', args: { task: named, text: 'approve' } });
    };
    await using world = await openWorld({
      provider: scripted(delegate('percy'), answer, 'Fine.'),
      toml: {
        a2a: { peers: [{ name: 'percy', card: served.url }] },
        security: { plan: 'off' },
      },
      approve: async () => true,
    });
    await world.agent.turn('Go.');
    const [asked, resumed] = world.eventsOf('EXEC:TOOL_RESULT').map(({ result }) => result);
    expect(asked).toMatchObject({ isError: true });
    expect(textOf(asked?.output ?? [])).toContain('percy asks: The agent wants to run test:act');
    expect(textOf(resumed?.output ?? [])).toBe('All right.');
  });

  it('[S6] goes to the skill that is named with the peer', async () => {
    const peer = await openFakePeer({
      SendStreamingMessage: (_, { items, response }) => {
        items(task('t1', 'WORKING'), update('t1', 'COMPLETED', 'Done.'));
        response.end();
      },
    });
    await using world = await openWorld({
      provider: scripted(delegate('percy/work'), 'Fine.'),
      toml: { a2a: { peers: [{ name: 'percy', card: peer.base, skills: ['work', 'rest'] }] } },
      approve: async () => true,
    });
    await world.agent.turn('Go.', { sessionId: 's' });
    expect(peer.seen[0]?.params.message.metadata['io.starloom/skill']).toBe('work');
    const [block] = (await world.agent.history('s')).filter(({ role }) => role === 'tool');
    expect(block).toMatchObject({ trust: 'untrusted', source: 'peer:percy' });
  });

  it('[S9] is not given when the call would be too deep', async () => {
    const asked: unknown[] = [];
    const peer = await openFakePeer({
      SendStreamingMessage: (_, { items }) => {
        asked.push('asked');
        return items(task('t1', 'COMPLETED'));
      },
    });
    const names = ['a', 'b', 'c', 'd'];
    const chain = names.map((name, index) => ({
      name,
      description: 'Passes it on.',
      tools: ['agent:delegate'],
      provider: {
        kind: 'scripted',
        script: [delegate(names[index + 1] ?? 'percy').segments, 'Fine.'],
      },
    }));
    await using world = await openWorld({
      provider: scripted(delegate('a'), 'Done.'),
      agent: { helpers: chain },
      toml: { a2a: { peers: [{ name: 'percy', card: peer.base }] } },
    });
    await world.agent.turn('Go.');
    expect(world.eventsOf('EXEC:RETURNED')[0]).toMatchObject({
      to: 'percy',
      code: 'RECURSION_LIMIT',
    });
    expect(asked).toEqual([]);
  });
});
