import { capabilitySchema, type EnvelopeInput } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { toPromptBlocks } from '../src/agent-client-protocol/open-turn.ts';

const ALL = { image: true, audio: true, embeddedContext: true };

describe('what a caller gave, as the prompt of an editor agent', () => {
  it('is the prompt of the arguments, and the others are context', () => {
    const blocks = toBlocks({ task: 'ignored', arguments: { prompt: 'Do it', path: 'a.ts' } });
    expect(blocks).toEqual([
      { type: 'text', text: 'Do it' },
      { type: 'text', text: 'Context, as JSON:\n{"path":"a.ts"}' },
    ]);
  });

  it('begins with the command that the capability stands for', () => {
    expect(toBlocks({ task: 'the last commit' }, {}, '/review')).toEqual([
      { type: 'text', text: '/review the last commit' },
    ]);
    expect(toBlocks({}, {}, '/compact')).toEqual([{ type: 'text', text: '/compact' }]);
  });

  it('has pictures and sounds as such, where the agent takes them', () => {
    const attachments = [
      { media_type: 'image/png', data: 'QQ==' },
      { media_type: 'audio/wav', data: 'QQ==' },
    ];
    expect(toBlocks({ task: 'x', attachments }, ALL).slice(1)).toEqual([
      { type: 'image', mimeType: 'image/png', data: 'QQ==' },
      { type: 'audio', mimeType: 'audio/wav', data: 'QQ==' },
    ]);
  });

  it.each([
    [{ media_type: 'text/plain', text: 'x' }, {}],
    [{ media_type: 'image/png', data: 'QQ==' }, { audio: true }],
    [{ media_type: 'audio/wav', data: 'QQ==' }, { image: true }],
    [{ media_type: 'text/plain' }, ALL],
  ])('is BAD_INPUT for %o when the agent takes %o', (attachment, capabilities) => {
    const input = { task: 'x', attachments: [attachment] };
    expect(() => toBlocks(input, capabilities)).toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
  });

  it('is BAD_INPUT when there is nothing to say', () => {
    expect(() => toBlocks({ task: '' })).toThrow('The prompt is empty');
  });
});

function toBlocks(input: EnvelopeInput['input'], capabilities: object = {}, tool?: string) {
  const capability = capabilitySchema.parse({ name: 'work', ...(tool && { tool }) });
  return toPromptBlocks(exampleEnvelope('', { input }).input, capability, capabilities);
}
