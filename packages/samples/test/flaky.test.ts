import { describe, expect, it } from 'vitest';
import { chooseMode } from '../src/flaky.ts';

describe('flaky', () => {
  it.each([
    ['hang for a while', 'hang'],
    ['Error: on purpose', 'error'],
    ['garbage', 'garbage'],
    ['What about hanging?', 'die'],
    ['', 'die'],
  ])('given the task %j, chooses to %s', (task, mode) => {
    expect(chooseMode(task)).toBe(mode);
  });
});
