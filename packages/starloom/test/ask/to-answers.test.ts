import { describe, expect, it } from 'vitest';
import { answerCommand, toAnswers } from '../../src/ask/answers.ts';

const ONE = { id: 'q', kind: 'form' as const, schema: { properties: { n: { type: 'integer' } } } };
const TWO = { ...ONE, schema: { properties: { a: {}, b: {} } } };

describe('answers on the command line', () => {
  it.each([
    [{ id: 'q', kind: 'text' as const }, 'my answer', { text: 'my answer' }],
    [{ id: 'q', kind: 'text' as const }, '{"text":"x"}', { text: 'x' }],
    [{ id: 'q', kind: 'choice' as const }, 'never', { choice: 'never' }],
    [ONE, '3', { n: 3 }],
    [TWO, '{"a":1}', { a: 1 }],
    [{ id: 'q', kind: 'url' as const }, 'done', undefined],
    [{ id: 'q', kind: 'auth' as const }, 'secret', undefined],
    [{ id: 'other', kind: 'url' as const }, 'x', { text: 'x' }],
  ])('fit the kind of %o: %s', (question, typed, content) => {
    const response = { action: 'accept', ...(content && { content }) };
    expect(toAnswers({ q: typed }, [question])).toEqual([{ id: 'q', response }]);
  });

  it('refuse', () => {
    const inputs = { a: '/decline', b: '/cancel' };
    expect(toAnswers(inputs, []).map(({ response }) => response.action)).toEqual([
      'decline',
      'cancel',
    ]);
  });

  it.each([
    ['text for several fields', TWO, 'x'],
    ['a value that does not fit', ONE, 'x'],
    ['a model', { id: 'q', kind: 'model' as const }, '{}'],
    ['folders', { id: 'q', kind: 'roots' as const }, '{}'],
  ])('are BAD_INPUT when they cannot be used: %s', (_, question, typed) => {
    expect(() => toAnswers({ q: typed }, [question])).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({ fix: expect.any(String) }),
      }),
    );
  });

  it('are shown as a command that a shell takes as it is', () => {
    const goOn = { agentId: 'a', capability: 'c', conversationId: 'c1.x_-' };
    const form = { id: "it's", kind: 'form' as const, message: '', schema: ONE.schema };
    const link = { id: 'l', kind: 'url' as const, message: '' };
    expect(answerCommand(goOn, [form, link])).toBe(
      `starloom call a c --conversation c1.x_- --input 'it'\\''s={"n":"…"}' --input l=done`,
    );
  });
});
