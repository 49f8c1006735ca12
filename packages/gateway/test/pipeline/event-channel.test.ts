import {
  createTrace,
  type EventBody,
  EventStamper,
  FabricError,
  type FabricEvent,
} from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventChannel } from '../../src/pipeline/event-channel.ts';

const token = (text: string): EventBody => ({ type: 'token', data: { text } });
const status: EventBody = { type: 'status', data: { state: 'started' } };

function open(options: Partial<ConstructorParameters<typeof EventChannel>[0]> = {}) {
  const sent: FabricEvent[] = [];
  const cuts: FabricError[] = [];
  const channel = new EventChannel({
    stamper: new EventStamper(createTrace(), () => 0),
    send: async (event) => void sent.push(event),
    onCut: (error) => cuts.push(error),
    stallMs: 10_000,
    ...options,
  });
  return { channel, sent, cuts };
}

const textOf = (events: readonly FabricEvent[]) =>
  events.flatMap((event) => (event.type === 'token' ? event.data.text : [])).join('');

describe('event channel', () => {
  it('sends what a reader can take at once, one by one', async () => {
    const { channel, sent } = open();
    for (const text of ['a', 'b', 'c']) {
      await channel.push(token(text), 'percy');
      await channel.drain();
    }
    expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(textOf(sent)).toBe('abc');
  });

  it('joins tokens that wait, of one agent only, and numbers what it sends without gaps', async () => {
    const gate = Promise.withResolvers<void>();
    const sent: FabricEvent[] = [];
    const { channel } = open({
      send: async (event) => {
        sent.push(event);
        await gate.promise;
      },
    });
    for (const text of ['a', 'b', 'c']) void channel.push(token(text), 'percy');
    void channel.push(status, 'percy');
    void channel.push(token('d'), 'percy');
    void channel.push(token('e'), 'backup');
    gate.resolve();
    await channel.drain();
    expect(sent.map((event) => (event.type === 'token' ? event.data.text : event.type))).toEqual([
      'a',
      'bc',
      'status',
      'd',
      'e',
    ]);
    expect(sent.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  it('loses and reorders nothing, however fast the reader is', async () => {
    const body = fc.oneof(fc.string().map(token), fc.constant(status));
    await fc.assert(
      fc.asyncProperty(
        fc.array(body, { maxLength: 40 }),
        fc.integer({ min: 1, max: 5 }),
        async (bodies, maxEvents) => {
          const { channel, sent } = open({
            maxEvents,
            send: async (event) => {
              await Promise.resolve();
              sent.push(event);
            },
          });
          for (const each of bodies) await channel.push(each, 'percy');
          await channel.drain();
          const flatten = (list: readonly EventBody[]) =>
            list.map((each) => (each.type === 'token' ? each.data.text : '|')).join('');
          expect(flatten(sent)).toBe(flatten(bodies));
          expect(sent.map(({ seq }) => seq)).toEqual(sent.map((_, index) => index + 1));
        },
      ),
    );
  });

  it('holds the agent back when it is full and lets it go on when there is room', async () => {
    const gate = Promise.withResolvers<void>();
    const { channel } = open({ maxEvents: 2, send: () => gate.promise });
    expect(channel.push(status, 'percy')).toBeUndefined();
    expect(channel.push(status, 'percy')).toBeUndefined();
    const held = channel.push(status, 'percy');
    expect(held).toBeInstanceOf(Promise);
    gate.resolve();
    await held;
    await channel.drain();
  });

  it('cuts a reader that takes nothing for too long with OVERLOADED', async () => {
    const { channel, cuts } = open({ stallMs: 20, send: () => new Promise(() => {}) });
    void channel.push(status, 'percy');
    await channel.drain();
    expect(cuts).toMatchObject([{ code: 'OVERLOADED', details: { reason: 'slow_reader' } }]);
    expect(channel.push(status, 'percy')).toBeUndefined();
  });

  it('gives up a reader that is gone, with the reason', async () => {
    const gone = new FabricError('CANCELLED', 'gone');
    const { channel, cuts } = open({ send: () => Promise.reject(gone) });
    await channel.push(status, 'percy');
    await channel.drain();
    expect(cuts).toEqual([gone]);
  });
});
