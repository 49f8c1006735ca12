import { describe, expect, it } from 'vitest';
import { FailureBreaker } from '../../src/core/breaker.ts';
import { callTools, openWorld, scripted, textOf, tool } from './world.ts';

const broken = tool('test:broken', () => {
  throw new Error('the disk is on fire');
});
const works = tool('test:works', () => 'fine');
const fail = (args: unknown) => callTools({ name: 'test:broken', args });

describe('the breaker for repeated failures', () => {
  it('warns the model when the same call has failed three times, whatever the order of its arguments', async () => {
    const provider = scripted(
      fail({ a: 1, b: 2 }),
      fail({ b: 2, a: 1 }),
      fail({ a: 1, b: 2 }),
      'I stop.',
    );
    await using world = await openWorld({ provider, tools: [broken] });
    await world.agent.turn('Try.');
    expect(world.eventsOf('SAFETY:WARNING')).toMatchObject([{ reason: 'same_call_fails' }]);
    const heard = provider.asked[3]?.context.blocks?.at(-1);
    expect(heard).toMatchObject({ role: 'system', source: 'core' });
    expect(textOf(heard?.segments ?? [])).toContain('test:broken has failed 3 times');
    expect(provider.asked[2]?.context.blocks?.at(-1)?.role).toBe('tool');
  });

  it('tells the model to ask the user after five failures in a row', async () => {
    const fails = [1, 2, 3, 4, 5].map((attempt) => fail({ attempt }));
    const provider = scripted(...fails, 'How shall I go on?');
    await using world = await openWorld({ provider, tools: [broken] });
    await world.agent.turn('Try.');
    expect(world.eventsOf('SAFETY:WARNING')).toMatchObject([{ reason: 'failures_in_a_row' }]);
    const heard = provider.asked[5]?.context.blocks?.at(-1);
    expect(textOf(heard?.segments ?? [])).toContain('ask how to go on');
  });

  it('halts the turn when eight of ten calls have failed', async () => {
    const fails = Array.from({ length: 20 }, (_, attempt) => fail({ attempt }));
    const provider = scripted(...fails);
    await using world = await openWorld({ provider, tools: [broken] });
    await expect(world.agent.turn('Try.')).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'repeated_failures', failures: 8, fix: expect.any(String) },
    });
    expect(provider.asked).toHaveLength(8);
    expect(world.eventsOf('SAFETY:HALT')).toMatchObject([{ reason: 'repeated_failures' }]);
  });

  it('lets a model that fails now and then go on', async () => {
    const mixed = Array.from({ length: 20 }, (_, attempt) =>
      attempt % 3 === 0 ? callTools({ name: 'test:works' }) : fail({ attempt }),
    );
    const provider = scripted(...mixed, 'Done.');
    await using world = await openWorld({ provider, tools: [broken, works] });
    expect(textOf((await world.agent.turn('Try.')).segments)).toBe('Done.');
    expect(world.eventsOf('SAFETY:WARNING')).toEqual([]);
  });

  it('never halts before the model has heard advice, however many calls fail at once', () => {
    const breaker = new FailureBreaker();
    const many = Array.from({ length: 12 }, (_, id) => ({
      call: { name: 'x', args: { id } },
      error: 'no',
    }));
    expect(breaker.note(many).map(({ reason }) => reason)).toEqual(['failures_in_a_row']);
    expect(() => breaker.note(many.slice(0, 1))).toThrow('the turn was stopped');
  });

  it('starts afresh with the next message of the user', async () => {
    const fails = Array.from({ length: 4 }, (_, attempt) => fail({ attempt }));
    const provider = scripted(...fails, 'Hm.', ...fails, 'Hm.');
    await using world = await openWorld({ provider, tools: [broken] });
    await world.agent.turn('Try.', { sessionId: 'one' });
    await world.agent.turn('Try again.', { sessionId: 'one' });
    expect(world.eventsOf('SAFETY:WARNING')).toEqual([]);
  });
});
