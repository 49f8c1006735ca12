import { describe, expect, it } from 'vitest';
import { Roster } from '../src/index.ts';

describe('a roster', () => {
  it('has whoever came and did not go', () => {
    const roster = new Roster<string>();
    const [a, b] = [roster.add('a'), roster.add('b')];
    roster.remove(a);
    expect(roster.members()).toEqual(['b']);
    roster.add('c');
    expect(roster.size).toBe(2);
    roster.remove(b);
    expect(roster.members()).toEqual(['c']);
  });

  it('needs no more places than were taken at once', () => {
    const roster = new Roster<number>();
    for (let n = 0; n < 1_000; n += 1) roster.remove(roster.add(n));
    expect(roster.add(1)).toBe(0);
    expect(roster.size).toBe(1);
  });

  it('shows those that were there when it was asked', () => {
    const roster = new Roster<string>();
    const place = roster.add('a');
    for (const member of roster.members()) {
      roster.remove(place);
      expect(member).toBe('a');
    }
    expect(roster.size).toBe(0);
  });
});
