import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createTrace,
  type EventBody,
  EventStamper,
  eventBodySchema,
  eventSchema,
  ResultFold,
} from '../src/index.ts';

const text = fc.string({ minLength: 1 });
const body: fc.Arbitrary<EventBody> = fc.oneof(
  text.map((message): EventBody => ({ type: 'status', data: { state: 'started', message } })),
  text.map((word): EventBody => ({ type: 'token', data: { text: word } })),
  fc
    .integer({ min: 0, max: 100 })
    .map((percent): EventBody => ({ type: 'progress', data: { percent } })),
  text.map(
    (id): EventBody => ({ type: 'tool_call', data: { id, name: 'n', args: {}, phase: 'start' } }),
  ),
);

describe('events', () => {
  it('are numbered from 1 without gaps, and stay valid', () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 30 }), (bodies) => {
        const stamper = new EventStamper(createTrace(), () => 1_767_225_600_123);
        const events = bodies.map((each) => stamper.stamp(each, 'percy'));
        expect(events.map(({ seq }) => seq)).toEqual(bodies.map((_, index) => index + 1));
        for (const event of events) {
          expect(eventSchema.parse(JSON.parse(JSON.stringify(event)))).toEqual(event);
          expect(event.at).toBe('2026-01-01T00:00:00.123Z');
        }
      }),
    );
  });

  it.each([
    { type: 'token', data: {} },
    { type: 'final', data: { citations: [] } },
    { type: 'progress', data: { percent: 101 } },
    { type: 'status', data: { state: 'sleeping' } },
    { type: 'unheard-of', data: {} },
  ])('refuses %j', (wrong) => {
    expect(eventBodySchema.safeParse(wrong).success).toBe(false);
  });
});

describe('the collected stream', () => {
  const fold = (...bodies: EventBody[]) => {
    const result = new ResultFold();
    for (const each of bodies) result.add(each);
    return result;
  };

  it('is not there before final', () => {
    fc.assert(fc.property(fc.array(body), (bodies) => fold(...bodies).result() === undefined));
  });

  it('is the final answer, or the tokens when that is empty', () => {
    const tokens = (['a', 'b'] as const).map(
      (word): EventBody => ({ type: 'token', data: { text: word } }),
    );
    expect(fold(...tokens, { type: 'final', data: { answer: '' } }).result()?.answer).toBe('ab');
    expect(fold(...tokens, { type: 'final', data: { answer: 'c' } }).result()?.answer).toBe('c');
  });

  it('joins the start and the end of each tool call', () => {
    const call = { id: '1', name: 'search', args: { q: 'x' } };
    const result = fold(
      { type: 'tool_call', data: { ...call, phase: 'start' } },
      { type: 'tool_call', data: { ...call, args: {}, phase: 'end', result: 3 } },
      { type: 'final', data: { answer: 'ok' } },
    );
    expect(result.sawToolCall).toBe(true);
    expect(result.result()?.tool_calls).toEqual([{ ...call, result: 3 }]);
  });
});
