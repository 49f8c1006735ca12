import { describe, expect, it } from 'vitest';
import { ToolIndex } from '../../src/tool-search/tool-index.ts';
import { tool } from '../core/world.ts';
import { manyTools, WANTED } from './many-tools.ts';

describe('a search for tools', () => {
  it('[P9] finds what people ask for among thousands of tools', () => {
    const tools = manyTools();
    expect(tools.length).toBeGreaterThan(3_500);
    const index = new ToolIndex(tools);
    const missed = WANTED.filter(([question, name]) => !index.search(question, 12).includes(name));
    expect(missed.map(([question]) => question)).toEqual([]);
  });

  it('finds words that are spelled in another way', () => {
    const index = new ToolIndex(manyTools());
    expect(index.search('translation into german', 12)).toContain('text:translate');
    expect(index.search('wheather forcast', 12)).toContain('weather:forecast');
  });

  it('knows names that are joined, and what parameters are for', () => {
    const index = new ToolIndex([
      tool('x:sendSMSMessage', () => '', { description: '' }),
      tool('y:run', () => '', {
        description: '',
        parameters: {
          type: 'object',
          properties: { spreadsheet: { description: 'The table to sum up' } },
        },
      }),
    ]);
    expect(index.search('send an SMS', 1)).toEqual(['x:sendSMSMessage']);
    expect(index.search('sum up a spreadsheet', 1)).toEqual(['y:run']);
  });

  it('gives nothing where nothing fits, and takes any text', () => {
    const index = new ToolIndex(manyTools());
    for (const query of ['', '   ', '!?', 'the of and', '\ud800', 'x'.repeat(100_000)]) {
      expect(index.search(query, 5).length).toBeLessThanOrEqual(5);
    }
    expect(index.search('the of and', 5)).toEqual([]);
    expect(new ToolIndex([]).search('anything', 5)).toEqual([]);
  });
});
