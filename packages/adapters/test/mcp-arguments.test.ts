import type { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { toToolArguments } from '../src/mcp/translate.ts';

type Input = ReturnType<typeof exampleEnvelope>['input'];

function input(change: Partial<Input> = {}): Input {
  return { task: 'the task', context: {}, attachments: [], ...change };
}

const text = { type: 'string' };

describe('the arguments of a tool', () => {
  it('are those of the envelope, whatever the schema says', () => {
    const given = { anything: 1 };
    expect(toToolArguments(input({ arguments: given }), { properties: { task: text } })).toEqual(
      given,
    );
  });

  it('are task and context, as far as the schema has a place for them', () => {
    const schema = { properties: { task: text, language: text, depth: { type: 'integer' } } };
    const context = { language: 'nl', secret: 'x', constructor: 'y' };
    expect(toToolArguments(input({ context }), schema)).toEqual({
      task: 'the task',
      language: 'nl',
    });
  });

  it('give the task to the one required text of a tool that has no task', () => {
    const schema = {
      properties: { message: text, note: text, count: { type: 'integer' } },
      required: ['message', 'count'],
    };
    expect(toToolArguments(input({ context: { count: 2 } }), schema)).toEqual({
      message: 'the task',
      count: 2,
    });
  });

  it('leave that text to the context when it has it', () => {
    const schema = { properties: { message: text }, required: ['message'] };
    const context = { message: 'from the context' };
    expect(toToolArguments(input({ context }), schema)).toEqual(context);
  });

  it('do not guess where the task belongs when several texts are required', () => {
    const schema = { properties: { from: text, to: text }, required: ['from', 'to'] };
    expect(toToolArguments(input(), schema)).toEqual({});
  });

  it('are everything when the schema says nothing, and nothing when it allows nothing', () => {
    const context = { extra: 1 };
    expect(toToolArguments(input({ context }), { type: 'object' })).toEqual({
      task: 'the task',
      extra: 1,
    });
    expect(toToolArguments(input({ context }), undefined)).toEqual({ task: 'the task', extra: 1 });
    expect(toToolArguments(input({ context }), { additionalProperties: false })).toEqual({});
    expect(toToolArguments(input({ context }), { properties: {} })).toEqual({});
  });

  it('hold the attachments where the schema has a place for them', () => {
    const attachments = [{ media_type: 'text/plain', text: 'hello' }];
    const schema = { properties: { task: text, attachments: { type: 'array' } } };
    expect(toToolArguments(input({ attachments }), schema)).toEqual({
      task: 'the task',
      attachments,
    });
    const without = { properties: { task: text } };
    expect(() => toToolArguments(input({ attachments }), without)).toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
    const own = { attachments: ['given'] };
    expect(toToolArguments(input({ attachments, arguments: own }), schema)).toEqual(own);
  });
});
