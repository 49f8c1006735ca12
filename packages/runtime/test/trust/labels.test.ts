import type { Block, Trust } from '@starloom/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  brokenLabel,
  combineLabels,
  createBlock,
  LINEAGE_BOUND,
  lowestTrust,
  type NewBlock,
  TRUST_LEVELS,
} from '../../src/trust/labels.ts';

const trust = fc.constantFrom(...TRUST_LEVELS);
const height = (level: Trust) => TRUST_LEVELS.length - TRUST_LEVELS.indexOf(level);

const anyLabel: fc.Arbitrary<NewBlock> = fc.record({
  role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
  segments: fc.constant([]),
  trust,
  type: fc.constantFrom('instruction', 'data'),
  source: fc.string(),
  taintedBy: fc.array(fc.string(), { maxLength: 3 }),
});

const anyBlock: fc.Arbitrary<Block> = anyLabel
  .filter((label) => !brokenLabel(label))
  .map((label) => createBlock(label));

describe('a block', () => {
  it('is made from any label or refused, and is never an untrusted instruction', () => {
    fc.assert(
      fc.property(anyLabel, (label) => {
        const impossible =
          (label.trust === 'untrusted' && label.type === 'instruction') ||
          (label.trust !== 'untrusted' && (label.taintedBy?.length ?? 0) > 0);
        if (impossible) {
          expect(() => createBlock(label)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
        } else {
          expect(createBlock(label)).toMatchObject({ trust: label.trust, type: label.type });
        }
      }),
    );
  });

  it.each([
    ['trust', { trust: 'very' }],
    ['trust', { trust: 'toString' }],
    ['type', { type: 'order' }],
  ])('of an unknown %s is refused', (_, wrong) => {
    const label = { role: 'user', segments: [], trust: 'vetted', type: 'data', source: 'user' };
    const given = { ...label, ...wrong } as NewBlock;
    expect(() => createBlock(given)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });

  it('cannot be changed afterwards', () => {
    const segments = [{ type: 'text' as const, text: 'a' }];
    const block = createBlock({
      role: 'tool',
      segments,
      trust: 'untrusted',
      type: 'data',
      source: 'tool:x',
    });
    expect(() => Object.assign(block, { type: 'instruction' })).toThrow(TypeError);
    segments.push({ type: 'text', text: 'b' });
    expect(block.segments).toHaveLength(1);
  });
});

describe('combining', () => {
  it('takes the lowest trust, whatever the order', () => {
    fc.assert(
      fc.property(fc.array(anyBlock, { minLength: 1 }), (blocks) => {
        const combined = combineLabels(blocks).trust;
        expect(combined).toBe(combineLabels(blocks.toReversed()).trust);
        expect(height(combined)).toBe(Math.min(...blocks.map((block) => height(block.trust))));
      }),
    );
  });

  it('of nothing is trusted, and of what is trusted has no lineage', () => {
    expect(lowestTrust([])).toBe('trusted');
    const own = createBlock({
      role: 'system',
      segments: [],
      trust: 'trusted',
      type: 'instruction',
      source: 'config',
    });
    expect(combineLabels([own])).toEqual({ trust: 'trusted' });
  });

  it('names the blocks by which foreign words came in, not those made out of them', () => {
    const page = foreign('page');
    const answer = createBlock({ ...foreign('answer'), ...combineLabels([page]) });
    const summary = createBlock({ ...foreign('summary'), ...combineLabels([answer]) });
    expect(summary.taintedBy).toEqual(['page']);
  });

  it('cuts a lineage to the newest, and a cut one is as untrusted as a whole one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (count) => {
        const pages = Array.from({ length: count }, (_, index) => foreign(`page-${index}`));
        const { trust: combined, taintedBy = [] } = combineLabels(pages);
        expect(combined).toBe('untrusted');
        expect(taintedBy).toHaveLength(Math.min(count, LINEAGE_BOUND));
        expect(taintedBy.at(-1)).toBe(`page-${count - 1}`);
      }),
    );
  });
});

function foreign(id: string): Block {
  return createBlock({
    id,
    role: 'tool',
    segments: [],
    trust: 'untrusted',
    type: 'data',
    source: 'tool:http:get',
  });
}
