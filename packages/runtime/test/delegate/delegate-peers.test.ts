import { describe, expect, it } from 'vitest';
import { openServed } from '../a2a/served.ts';
import { callTools, openWorld, scripted, textOf } from '../core/world.ts';
import { openFakePeer, task } from '../peers/fake-peer.ts';

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
