import { FabricError } from '@starloom/core';
import type { IProvider } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { callTools, echo, openWorld, say, scripted, textOf, tool, until } from './world.ts';

const again = () => callTools({ name: 'test:echo', args: { text: crypto.randomUUID() } });

describe('the budgets of a turn', () => {
  it('ends a turn that has asked the model often enough, and keeps the session whole', async () => {
    const provider = scripted(again(), again(), again());
    await using world = await openWorld({
      provider,
      tools: [echo],
      agent: { limits: { steps: 2 } },
    });
    await expect(world.agent.turn('Go on.', { sessionId: 'one' })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'budget', budget: 'steps', limit: 2, used: 2, fix: expect.any(String) },
    });
    expect(provider.asked).toHaveLength(2);
    expect(world.eventsOf('SAFETY:BUDGET')).toEqual([{ budget: 'steps', limit: 2, used: 2 }]);
    expect(world.eventsOf('SAFETY:HALT')).toMatchObject([{ reason: 'budget' }]);
    const roles = (await world.agent.history('one')).map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'system']);
  });

  it('counts tokens as the provider says, and lets an answer that is there stand', async () => {
    const usage = { inputTokens: 600, outputTokens: 500 };
    const provider = scripted({ ...again(), metadata: { usage } }, say('Too late.'));
    const limits = { tokens: 1_000 };
    await using world = await openWorld({ provider, tools: [echo], agent: { limits } });
    await expect(world.agent.turn('Go on.')).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { budget: 'tokens', used: 1_100, usage },
    });

    const enough = scripted(say('All at once.', { usage }));
    await using other = await openWorld({ provider: enough, agent: { limits } });
    const result = await other.agent.turn('Go on.');
    expect(textOf(result.segments)).toBe('All at once.');
    expect(result.usage).toEqual(usage);
  });

  it('estimates tokens when the provider does not say', async () => {
    const provider = scripted(say('word '.repeat(400)));
    await using world = await openWorld({ provider });
    const { usage } = await world.agent.turn('Go on.');
    expect(usage.outputTokens).toBeGreaterThan(300);
    expect(usage.outputTokens).toBeLessThan(1_000);
  });

  it('counts money by the price of tokens, cached ones apart, or by the cost the provider tells', async () => {
    const money = { limit: 1, input: 2, output: 10, cache_read: 1 };
    const usage = { inputTokens: 300_000, cacheReadTokens: 200_000, outputTokens: 60_000 };
    const limits = { tokens: 10_000_000, money };
    const priced = scripted({ ...again(), metadata: { usage } }, say('Too late.'));
    await using world = await openWorld({ provider: priced, tools: [echo], agent: { limits } });
    await expect(world.agent.turn('Go on.')).rejects.toMatchObject({
      details: { budget: 'money', limit: 1, used: expect.closeTo(0.2 + 0.2 + 0.6, 9) },
    });

    const reported = scripted({ ...again(), metadata: { usage, cost: 0.25 } }, say('In time.'));
    await using other = await openWorld({ provider: reported, tools: [echo], agent: { limits } });
    expect(textOf((await other.agent.turn('Go on.')).segments)).toBe('In time.');
  });

  it('cuts off a provider that hangs when the time of the turn is over', async () => {
    const hanging: IProvider = { name: 'hanging', generate: () => new Promise(() => {}) };
    await using world = await openWorld({
      provider: hanging,
      agent: { limits: { seconds: 0.05 } },
    });
    await expect(world.agent.turn('Hello?', { sessionId: 'one' })).rejects.toMatchObject({
      code: 'TIMEOUT',
      details: { budget: 'seconds', limit: 0.05, fix: expect.stringContaining('limits.seconds') },
    });
    expect((await world.agent.history('one')).map(({ role }) => role)).toEqual(['user', 'system']);
  });

  it('cuts off a stream that stops in the middle, and leaves it', async () => {
    let left = false;
    const provider: IProvider = {
      name: 'stalling',
      generate: () => Promise.reject(new Error('not asked')),
      stream: () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => {}),
          return: async () => {
            left = true;
            return { done: true, value: undefined };
          },
        }),
      }),
    };
    await using world = await openWorld({ provider, agent: { limits: { seconds: 0.05 } } });
    await expect(world.agent.turn('Hello?')).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(left).toBe(true);
  });

  it('cancels a turn by its signal, in the middle of a tool, and answers the call in the session', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const hanging = tool('test:hang', (_args, { signal }) => {
      started.resolve(signal);
      return new Promise(() => {});
    });
    const provider = scripted(callTools({ name: 'test:hang' }));
    await using world = await openWorld({ provider, tools: [hanging] });
    const controller = new AbortController();
    const turn = world.agent.turn('Go.', { sessionId: 'one', signal: controller.signal });
    const signal = await started.promise;
    controller.abort();
    await expect(turn).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(signal.aborted).toBe(true);
    const kept = await world.agent.history('one');
    expect(kept.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'system']);
    expect(kept[2]?.segments[0]?.toolResult?.isError).toBe(true);
  });

  it('closing the agent cancels what runs and waits for it', async () => {
    const hanging: IProvider = { name: 'hanging', generate: () => new Promise(() => {}) };
    await using world = await openWorld({ provider: hanging });
    let isOver = false;
    const turn = world.agent.turn('Hello?').catch((error) => {
      isOver = true;
      return error;
    });
    await until(() => world.eventsOf('EXEC:STEP').length === 1);
    await world.agent.close();
    expect(isOver).toBe(true);
    expect(await turn).toMatchObject({ code: 'CANCELLED' });
    await expect(world.agent.turn('Still there?')).rejects.toSatisfy(FabricError.is);
  });
});
