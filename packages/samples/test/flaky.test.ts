import { describe, expect, it } from 'vitest';
import { chooseMode } from '../src/flaky.ts';

describe('flaky', () => {
  it.each([
    ['hang for a while', undefined, 'hang'],
    ['Error: on purpose', undefined, 'error'],
    ['garbage', 'hang', 'garbage'],
    ['What about hanging?', 'garbage', 'garbage'],
    ['What about hanging?', 'nonsense', 'die'],
    ['', undefined, 'die'],
  ])('given the task %j and the setting %j, chooses to %s', (task, setting, mode) => {
    expect(chooseMode(task, setting)).toBe(mode);
  });
});
