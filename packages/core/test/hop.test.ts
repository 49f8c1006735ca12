import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  extendChain,
  findCycle,
  formatChain,
  fromMeta,
  type Hop,
  hopSchema,
  MAX_DEPTH,
  nextHop,
  parseChain,
  parseDepth,
  RecursionGuard,
  ROOT_HOP,
} from '../src/index.ts';

const agentId = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,30}$/);
const capability = fc.stringMatching(/^[A-Za-z0-9_.:-]{1,64}$/);
const link = fc.tuple(agentId, capability).map((pair) => pair.join('/'));

describe('depth', () => {
  it('reads 0 to 1000, as number and as digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1000 }), (depth) => {
        expect(parseDepth(depth)).toBe(depth);
        expect(parseDepth(String(depth))).toBe(depth);
      }),
    );
  });

  it.each([-1, 1001, 1.5, Number.NaN, '', ' 1', '-1', '1e2', '0x1', '99999', null, {}, true, [3]])(
    'refuses %j',
    (value) => {
      expect(() => parseDepth(value)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
    },
  );

  it('serves 5 and refuses 6', () => {
    expect(MAX_DEPTH).toBe(5);
    const admit = (hop: Hop) => new RecursionGuard().admit({ ...fromMeta({}), hop });
    expect(() => admit({ depth: 5, chain: [] })).not.toThrow();
    expect(() => admit({ depth: 6, chain: ['a/x'] })).toThrow(
      expect.objectContaining({
        code: 'RECURSION_LIMIT',
        details: { reason: 'depth', depth: 6, limit: 5, chain: ['a/x'] },
      }),
    );
  });

  it('is 1 at the root and grows by one with each call an agent makes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (calls) => {
        let hop = ROOT_HOP;
        for (let call = 1; call < calls; call += 1) hop = nextHop(hop);
        expect(hop.depth).toBe(calls);
      }),
    );
  });
});

describe('chain', () => {
  it('reads back what it writes', () => {
    fc.assert(
      fc.property(fc.array(link, { maxLength: 64 }), (chain) => {
        expect(chain.length === 0 || parseChain(formatChain(chain))).toEqual(
          chain.length === 0 || chain,
        );
        expect(hopSchema.parse({ depth: 1, chain }).chain).toEqual(chain);
      }),
    );
  });

  it('grows at its end and leaves the original alone', () => {
    fc.assert(
      fc.property(fc.array(link, { maxLength: 8 }), agentId, capability, (chain, id, name) => {
        const before = [...chain];
        const hop = extendChain({ depth: 2, chain }, id, name);
        expect(hop).toEqual({ depth: 2, chain: [...before, `${id}/${name}`] });
        expect(chain).toEqual(before);
      }),
    );
  });

  it.each([
    'no-slash',
    'a/b/c',
    'A/b',
    'a/',
    '/b',
    'a/b;c/d',
    'a/b\r\nx: y',
    42,
    null,
    Array.from({ length: 65 }, (_, index) => `a${index}/x`).join(','),
  ])('refuses %j', (value) => {
    expect(() => parseChain(value)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });

  it('names the loop a repeated link closes, and only then', () => {
    expect(findCycle(['a/x', 'b/y', 'c/z'], 'b/y')).toEqual(['b/y', 'c/z', 'b/y']);
    expect(findCycle(['a/x'], 'a/y')).toBeUndefined();
    expect(findCycle(['a/fs:x', 'b/y'], 'a/fs.x')).toEqual(['a/fs:x', 'b/y', 'a/fs.x']);
    fc.assert(
      fc.property(fc.uniqueArray(link, { minLength: 1, maxLength: 8 }), (links) => {
        const [next = '', ...chain] = links;
        expect(findCycle(chain, next)).toBeUndefined();
        expect(findCycle([...chain, next], next)).toEqual([next, next]);
      }),
    );
  });
});
