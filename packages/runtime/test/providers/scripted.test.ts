import { foldEvents, type IAgentContext } from '@starloom/sdk';
import { providerContract } from '@starloom/sdk/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createScripted, scriptedSchema } from '../../src/providers/scripted.ts';
import { openScriptedSubject } from './fixtures/scripted-subject.ts';

describe('[P4][P5] a scripted model', () => {
  providerContract('scripted', openScriptedSubject, {
    service: false,
    argumentText: false,
    media: ['image', 'audio', 'video'],
  });

  it('says every kind of segment, mixed and in order', async () => {
    const segments = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Look:' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/mp3' },
      { type: 'ui', ui: { component: 'button', label: 'Go' } },
      { type: 'text', text: 'and' },
      { type: 'video', data: 'https://films.test/1', mimeType: 'video/mp4' },
      { type: 'tool_call', toolCall: { id: 'c1', name: 'fs:list', args: {} } },
      {
        type: 'tool_result',
        toolResult: { id: 'c0', name: 'web', output: [{ type: 'text', text: 'found' }] },
      },
    ];
    const provider = scripted([{ segments }]);
    expect((await provider.generate('', context())).segments).toEqual(segments);
    const events = await Array.fromAsync(provider.stream('', context('other')));
    expect(foldEvents(events).segments).toEqual(segments);
  });
});

describe('the script', () => {
  it('begins at the first answer in every session, and goes on within one', async () => {
    const provider = scripted(['one', 'two']);
    expect(await say(provider, 'a')).toBe('one');
    expect(await say(provider, 'b')).toBe('one');
    expect(await say(provider, 'a')).toBe('two');
  });

  it('ends with an error that says what to do, every time it is asked again', async () => {
    const provider = scripted(['only']);
    await say(provider, 'a');
    const expected = { code: 'UPSTREAM_ERROR', details: { reason: 'script_ended', responses: 1 } };
    await expect(say(provider, 'a')).rejects.toMatchObject(expected);
    await expect(say(provider, 'a')).rejects.toMatchObject(expected);
  });

  it('begins again after its end when cycle is set', async () => {
    const provider = scripted(['one', 'two'], { cycle: true });
    const said = [];
    for (let turn = 0; turn < 5; turn += 1) said.push(await say(provider, 'a'));
    expect(said).toEqual(['one', 'two', 'one', 'two', 'one']);
  });

  it('gives calls the same ids each time it runs, and no two calls the same', async () => {
    const call = { type: 'tool_call', toolCall: { name: 'fs:list' } };
    const run = async () => {
      const provider = scripted([[call, call]], { cycle: true });
      const first = await provider.generate('', context('a'));
      const second = await provider.generate('', context('a'));
      return [...first.segments, ...second.segments].map(({ toolCall }) => toolCall?.id);
    };
    const ids = await run();
    expect(new Set(ids).size).toBe(4);
    expect(await run()).toEqual(ids);
  });

  it('fails where it says so, and goes on with the next answer', async () => {
    const error = { code: 'RATE_LIMITED', details: { retry_after_ms: 5 } };
    const provider = scripted([{ error }, 'after']);
    await expect(say(provider, 'a')).rejects.toMatchObject(error);
    expect(await say(provider, 'a')).toBe('after');
  });

  it('hangs where it says so, after its words, until it is cancelled', async () => {
    const provider = scripted([{ segments: ['wait'], hang: true }]);
    const control = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of provider.stream('', { ...context(), signal: control.signal })) {
        seen.push(event.type);
        control.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(seen).toEqual(['text']);
  });

  it('is not changed by a caller that changes an answer', async () => {
    const provider = scripted([[{ type: 'ui', ui: 1 }, 'text']], { cycle: true });
    const first = await provider.generate('', context('a'));
    for (const segment of first.segments) segment.text = 'changed';
    const second = await provider.generate('', context('a'));
    expect(second.segments).toEqual([
      { type: 'ui', ui: 1 },
      { type: 'text', text: 'text' },
    ]);
  });

  it('says any text whole, in more than one piece where there are words', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), async (text) => {
        const events = await Array.fromAsync(scripted([text]).stream('', context()));
        expect(foldEvents(events).segments).toEqual([{ type: 'text', text }]);
      }),
    );
    const pieces = await Array.fromAsync(scripted(['one two three']).stream('', context()));
    expect(pieces.filter(({ type }) => type === 'text')).toHaveLength(3);
  });
});

function scripted(script: unknown[], options: object = {}) {
  return createScripted(scriptedSchema.parse({ kind: 'scripted', script, ...options }));
}

function context(sessionId = ''): IAgentContext {
  return { tools: new Map(), sessionId };
}

async function say(provider: ReturnType<typeof createScripted>, sessionId: string) {
  const { segments } = await provider.generate('Say', context(sessionId));
  return segments.map(({ text }) => text).join('');
}
