import { describe, expect, it } from 'vitest';
import { chooseMode, MODES, misbehave } from '../src/flaky.ts';

function outlet() {
  const lines: string[] = [];
  const exits: number[] = [];
  return {
    lines,
    exits,
    write: (line: string) => void lines.push(line),
    exit: (code: number) => void exits.push(code),
  };
}

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

  it.each(MODES)('begins well when it is to %s, and never ends with a final event', (mode) => {
    const out = outlet();
    misbehave(mode, out);
    expect(JSON.parse(out.lines[0] ?? '')).toMatchObject({ type: 'token' });
    expect(out.lines.filter((line) => line.includes('"final"'))).toEqual([]);
  });

  it('reports an error, dies or talks garbage as it was told', () => {
    const [error, die, garbage] = [outlet(), outlet(), outlet()];
    misbehave('error', error);
    misbehave('die', die);
    misbehave('garbage', garbage);
    expect(JSON.parse(error.lines.at(-1) ?? '')).toMatchObject({
      type: 'error',
      error: { code: 'UPSTREAM_ERROR', details: { reason: 'on_purpose' } },
    });
    expect(die.exits).toEqual([1]);
    expect(() => JSON.parse(garbage.lines.at(-1) ?? '')).toThrow();
  });
});
