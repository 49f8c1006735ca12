import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createToolNames } from '../../src/providers/tool-names.ts';

const VENDOR_RULE = /^[A-Za-z0-9_-]{1,64}$/;

/** Names that meet after mapping, with and without anything a vendor allows. */
const name = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom('a', 'B', '1', '_', '-', ':', '.', '/', 'é', '🌤') }),
  fc.string({ unit: fc.constantFrom('x', ':'), minLength: 60, maxLength: 70 }),
  fc.constantFrom('fs:read', 'fs.read', 'fs_read', 'fs_read-2f7d3c1a', '', '1', '_1'),
);
const names = fc.uniqueArray(name, { maxLength: 40 });

describe('names of tools on the wire', () => {
  it('meet the rule of every vendor, and lead back to the tool', () => {
    fc.assert(
      fc.property(names, (all) => {
        const map = createToolNames(all);
        const wired = all.map(map.toWire);
        for (const wire of wired) expect(wire).toMatch(VENDOR_RULE);
        expect(new Set(wired).size).toBe(all.length);
        expect(wired.map(map.fromWire)).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });

  it('do not depend on the order of the tools', () => {
    fc.assert(
      fc.property(names, (all) => {
        const map = createToolNames(all);
        const reversed = createToolNames(all.toReversed());
        expect(all.map(reversed.toWire)).toEqual(all.map(map.toWire));
      }),
    );
  });

  it('stay as they are where vendors allow them', () => {
    const map = createToolNames(['get_weather', 'get-weather', 'fs:read_file', 'fs.list']);
    expect(map.toWire('get_weather')).toBe('get_weather');
    expect(map.toWire('get-weather')).toBe('get-weather');
    expect(map.toWire('fs:read_file')).toBe('fs_read_file');
    expect(map.toWire('fs.list')).toBe('fs_list');
  });

  it('never take the name of another tool', () => {
    const map = createToolNames(['fs_read', 'fs:read']);
    expect(map.fromWire('fs_read')).toBe('fs_read');
    expect(map.toWire('fs:read')).not.toBe('fs_read');
  });

  it('names that a model made up, or spelled as we do, stay as they are', () => {
    const map = createToolNames(['fs:read_file']);
    expect(map.fromWire('fs_raed_file')).toBe('fs_raed_file');
    expect(map.fromWire('fs:read_file')).toBe('fs:read_file');
  });

  it('begin with a letter or an underscore, as one vendor wants', () => {
    expect(createToolNames(['3d:render']).toWire('3d:render')).toBe('_3d_render');
  });
});
