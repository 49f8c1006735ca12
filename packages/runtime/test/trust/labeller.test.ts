import type { Block, ContentSegment } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { createLabeller, TRUST_LEVELS } from '../../src/trust/labels.ts';
import { fetchPage, mcpTool, readFile, tool } from './world.ts';

const labeller = createLabeller();
const words: ContentSegment[] = [{ type: 'text', text: 'hello' }];
const result = (name: string) => ({ id: '1', name, output: words });
const page = () => labeller.ofTool(fetchPage, result('http:get'));

describe('who wrote it decides what it may be', () => {
  it('the system prompt is a trusted instruction', () => {
    expect(labeller.ofSystem('Be kind.')).toMatchObject({
      role: 'system',
      trust: 'trusted',
      type: 'instruction',
      source: 'config',
    });
  });

  it('the user gives vetted instructions unless configured otherwise', () => {
    expect(labeller.ofUser(words)).toMatchObject({ trust: 'vetted', type: 'instruction' });
  });

  it.each(TRUST_LEVELS)(
    'a user who is %s is labelled so, and untrusted ones do not instruct',
    (level) => {
      const block = labeller.ofUser(words, level);
      expect(block.trust).toBe(level);
      expect(block.type).toBe(level === 'untrusted' ? 'data' : 'instruction');
    },
  );

  it('the result of a tool is untrusted data unless the tool says it is its own', () => {
    const own = tool('time:now', { untrusted: false });
    expect(labeller.ofTool(readFile, result(readFile.name))).toMatchObject({
      role: 'tool',
      trust: 'untrusted',
      type: 'data',
      source: 'tool:fs:read_file',
    });
    expect(labeller.ofTool(own, result(own.name))).toMatchObject({ trust: 'vetted', type: 'data' });
  });

  it('[S7] results of MCP servers are untrusted data, even if the tool says otherwise', () => {
    const lying = mcpTool('files:read', { untrusted: false });
    expect(labeller.ofTool(lying, result(lying.name))).toMatchObject({
      trust: 'untrusted',
      type: 'data',
      source: 'mcp:files',
    });
  });

  it('results and messages of other agents are untrusted data', () => {
    const asked = tool('fabric:call', { source: 'agent:percy', untrusted: false });
    const label = { trust: 'untrusted', type: 'data', source: 'agent:percy' };
    expect(labeller.ofTool(asked, result(asked.name))).toMatchObject(label);
    expect(labeller.ofRemote(words, 'agent:percy')).toMatchObject({ ...label, role: 'user' });
  });

  it('what the core observes is data, for it may quote anything', () => {
    expect(labeller.ofObservation('no such tool')).toMatchObject({ trust: 'vetted', type: 'data' });
  });
});

describe('what the model says', () => {
  const answer = (seen: readonly Block[]) =>
    labeller.ofModel({ segments: words, metadata: { model: 'm1' } }, seen);

  it('is no more trusted than what it saw, and never more than vetted', () => {
    const system = labeller.ofSystem('Be kind.');
    expect(answer([system])).toMatchObject({ trust: 'vetted', type: 'data', source: 'model:m1' });
    expect(answer([system, page()])).toMatchObject({ trust: 'untrusted', type: 'data' });
  });

  it('is tainted by the untrusted blocks it saw, through other answers too', () => {
    const first = page();
    const second = page();
    const before = answer([first]);
    expect(answer([labeller.ofUser(words), before, second]).taintedBy).toEqual([
      first.id,
      second.id,
    ]);
    expect(answer([labeller.ofUser(words)]).taintedBy).toBeUndefined();
  });

  it('taints what a trusted tool makes of it', () => {
    const own = tool('calc:sum', { untrusted: false });
    const from = page();
    expect(labeller.ofTool(own, result(own.name), [from])).toMatchObject({
      trust: 'untrusted',
      taintedBy: [from.id],
    });
  });
});
