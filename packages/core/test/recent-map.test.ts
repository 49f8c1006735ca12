import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecentMap } from '../src/collections.ts';

describe('a map of what was used lately', () => {
  it('keeps what is used again and again, however much else comes', () => {
    const map = new RecentMap<number>(10);
    map.set('kept', 0);
    for (let count = 1; count <= 1_000; count += 1) {
      map.set(`other ${count}`, count);
      expect(map.get('kept')).toBe(0);
    }
  });

  it('forgets what was not used while twice as much as it keeps came in', () => {
    const map = new RecentMap<number>(10);
    map.set('forgotten', 0);
    for (let count = 1; count <= 20; count += 1) map.set(`other ${count}`, count);
    expect(map.get('forgotten')).toBeUndefined();
  });

  it('has the last value of each of the keys used last, unless it was deleted', () => {
    const key = fc.constantFrom(...'abcdef');
    const step = fc.record({ kind: fc.constantFrom('set', 'get', 'delete'), key });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const map = new RecentMap<number>(3);
        const model = new Map<string, number>();
        let used: string[] = [];
        for (const [index, { kind, key: name }] of steps.entries()) {
          if (used.slice(0, 3).includes(name)) expect(map.get(name)).toBe(model.get(name));
          expect([undefined, model.get(name)]).toContain(map.get(name));
          if (kind === 'set') {
            map.set(name, index);
            model.set(name, index);
          } else if (kind === 'delete') {
            map.delete(name);
            model.delete(name);
          }
          const isThere = map.get(name) !== undefined;
          used = [...(isThere ? [name] : []), ...used.filter((each) => each !== name)];
        }
      }),
    );
  });
});
