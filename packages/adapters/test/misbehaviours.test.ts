// Every adapter of the table answers every case of an agent that misbehaves: with the tests that make
// its agent do so, or with why it cannot happen (`test/adapters/`).

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { adapters } from '../src/index.ts';
import { CASES, readAdapterFacts } from './fixtures/adapter-facts.ts';

const FACTS = await readAdapterFacts();

describe.each(Object.keys(adapters))(
  '[G28] what the adapter %s makes of an agent with',
  (adapter) => {
    it.each(CASES)('%s is tested, or cannot happen', (kind) => {
      const cell = FACTS[adapter]?.misbehaviours[kind];
      if (cell === undefined) return expect.fail(`say which test proves it: ${adapter}, ${kind}`);
      if ('never' in cell) return expect(cell.never).not.toBe('');
      expect(cell.length).toBeGreaterThan(0);
      for (const [file, words] of cell) {
        expect(readFileSync(new URL(file, import.meta.url), 'utf8'), file).toContain(words);
      }
    });
  },
);
