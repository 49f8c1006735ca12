import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertJsonLimits, JsonCount, jsonExcess, UPSTREAM_JSON_LIMITS } from '../src/index.ts';

/** Long enough to be counted. */
const padded = (json: string) => `${json}${' '.repeat(8_192)}`;
const excess = (json: string, depth: number, nodes: number) =>
  jsonExcess(padded(json), { depth, nodes });

/** Characters whose places matter. */
const ESCAPED = fc.constantFrom('"', '\\', '[', ']', ',', 'a');

function inParts(json: string, lengths: readonly number[], depth: number, nodes: number) {
  const count = new JsonCount({ depth, nodes });
  let at = 0;
  for (const length of [...lengths, json.length]) {
    const excess = count.add(json.slice(at, at + length));
    if (excess) return excess;
    at += length;
  }
  return undefined;
}

describe('JSON limits', () => {
  it('count what the parser makes of the text, whatever its strings hold', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), (value, isSpaced) => {
        const json = isSpaced ? JSON.stringify(value, null, 1) : JSON.stringify(value);
        const { depth, nodes } = measure(value);
        expect(excess(json, depth, nodes)).toBeUndefined();
        expect(excess(json, depth, nodes - 1)).toBe('too_many_values');
        if (depth > 0) expect(excess(json, depth - 2, nodes)).toBe('too_deep');
      }),
    );
  });

  it.each(['"[[[[{{{{,,,,"', '"\\"[[[[,,,,"', '"\\\\"', '"\\\\\\"[[,,"', '{"a\\"[":"]\\\\"}'])(
    'look past the string %s',
    (json) => {
      expect(excess(json, 1, 2)).toBeUndefined();
    },
  );

  it('count the same of a text that comes in parts', () => {
    const parts = fc.array(fc.nat({ max: 40 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: ESCAPED }), parts, (value, lengths) => {
        const json = JSON.stringify(value);
        const { depth, nodes } = measure(value);
        expect(inParts(json, lengths, depth, nodes)).toBeUndefined();
        expect(inParts(json, lengths, depth, nodes - 1)).toBe('too_many_values');
        if (depth > 0) expect(inParts(json, lengths, depth - 2, nodes)).toBe('too_deep');
      }),
    );
  });

  it('say nothing of texts that are no JSON, however they break off', () => {
    for (const text of ['"abc', '"abc\\', ']]]]', '\\"', '{"a":']) {
      expect(excess(text, 5, 5)).toBeUndefined();
    }
  });

  it('[G9] refuse an answer of a million keys, and one nested a million deep', () => {
    const keys = `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join(',')}}`;
    const deep = '['.repeat(1_000_000);
    for (const [text, reason] of [
      [keys, 'too_many_values'],
      [deep, 'too_deep'],
    ] as const) {
      expect(() => assertJsonLimits(text)).toThrow(FabricError);
      expect(jsonExcess(text, UPSTREAM_JSON_LIMITS)).toBe(reason);
    }
  });

  it('let ordinary large answers pass: text of 16 MB, a table of ten thousand rows', () => {
    const text = JSON.stringify({
      content: [{ type: 'text', text: 'A line.\n'.repeat(1_777_777) }],
    });
    expect(jsonExcess(text, UPSTREAM_JSON_LIMITS)).toBeUndefined();
    const row = { id: 1, name: 'one', price: 1.5, tags: ['a', 'b'], at: '2026-01-01', note: null };
    const table = JSON.stringify(Array(10_000).fill(row));
    expect(jsonExcess(table, UPSTREAM_JSON_LIMITS)).toBeUndefined();
  });
});

function measure(value: unknown): { depth: number; nodes: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, nodes: 1 };
  const inner = Object.values(value).map(measure);
  return {
    depth: inner.reduce((most, { depth }) => Math.max(most, depth + 1), 0),
    nodes: inner.reduce((sum, { nodes }) => sum + nodes, 1),
  };
}
