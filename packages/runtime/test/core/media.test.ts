import { describe, expect, it } from 'vitest';
import { toContentBlock } from '../../src/editor/content.ts';
import { toResult } from '../../src/mcp/server/to-result.ts';

const trace = { trace_id: 't', span_id: 's', parent_span_id: null };

describe('a picture that a model made', () => {
  it('reaches editors and MCP clients as its bytes when it is a data URL', () => {
    const segment = { type: 'image', data: 'data:image/webp;base64,AAAA' } as const;
    const block = { type: 'image', data: 'AAAA', mimeType: 'image/webp' };
    expect(toContentBlock(segment)).toEqual(block);
    expect(toResult([segment], { agent_id: 'a', trace }).content).toEqual([block]);
  });

  it('reaches editors and MCP clients as a link when it is an address', () => {
    const segment = { type: 'image', data: 'https://x.example/a.png' } as const;
    const link = { type: 'resource_link', uri: 'https://x.example/a.png' };
    expect(toContentBlock(segment)).toMatchObject(link);
    expect(toResult([segment], { agent_id: 'a', trace }).content).toMatchObject([link]);
  });
});
