import { expect, it } from 'vitest';
import { argumentsFromTask } from '../src/index.ts';

const text = { type: 'string' };
const input = { task: 'the task', context: { extra: 1 } };

it.each([
  ['all of it where nothing is said', {}, { task: 'the task', extra: 1 }],
  ['nothing where nothing is taken', { additionalProperties: false }, {}],
  ['what has a place', { properties: { task: text } }, { task: 'the task' }],
  ['the context too', { properties: { task: text, extra: {} } }, { task: 'the task', extra: 1 }],
  [
    'the task as the one required text',
    { properties: { prompt: text, size: {}, note: text }, required: ['prompt', 'size'] },
    { prompt: 'the task' },
  ],
  [
    'no task where two texts are required',
    { properties: { from: text, to: text }, required: ['from', 'to'] },
    {},
  ],
])('a call without arguments brings %s', (_, schema, expected) => {
  expect(argumentsFromTask(input, schema)).toEqual(expected);
});

it('a call without a task brings none', () => {
  const schema = { properties: { prompt: text }, required: ['prompt'] };
  expect(argumentsFromTask({ task: '', context: {} }, schema)).toEqual({});
  expect(argumentsFromTask({ task: '', context: {} })).toEqual({});
});
