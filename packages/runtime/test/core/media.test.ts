import { describe, expect, it } from 'vitest';
import { toContentBlock } from '../../src/editor/prompt-updates.ts';
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

describe('a file that an agent made', () => {
  it('keeps its name on the way to editors and MCP clients', () => {
    const about = { type: 'file', name: 'a b.pdf', mimeType: 'application/pdf' } as const;
    const bytes = { ...about, data: 'AAAA' };
    expect(toContentBlock(bytes)).toEqual({ type: 'text', text: '[a b.pdf: application/pdf]' });
    const [block] = toResult([bytes], { agent_id: 'a', trace }).content;
    const resource = { uri: 'agent:a%20b.pdf', blob: 'AAAA', mimeType: 'application/pdf' };
    expect(block).toEqual({ type: 'resource', resource });
    const link = { type: 'resource_link', uri: 'https://x.example/1', name: 'a b.pdf' };
    const linked = { ...about, data: 'https://x.example/1' };
    expect(toContentBlock(linked)).toMatchObject(link);
    expect(toResult([linked], { agent_id: 'a', trace }).content).toMatchObject([link]);
  });
});
