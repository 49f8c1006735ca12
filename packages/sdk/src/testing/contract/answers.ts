import { describe, expect, it } from 'vitest';
import type { FakePart } from '../fake-script.ts';
import {
  ask,
  failure,
  MODES,
  type OpenSubject,
  openWorld,
  PIXEL,
  type ProviderFeatures,
  plain,
} from './provider-subject.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ARGS = { path: 'docs/日本語 "quoted".md', options: { deep: [1, 2, { three: null }] } };

/** What a model says becomes segments. */
export function answersContract(open: OpenSubject, features: Required<ProviderFeatures>): void {
  describe.each(MODES)('%s answers', (mode) => {
    it('turn words into one text segment', async () => {
      await using world = await openWorld(open, ['Grüße aus 台北, 25 °C. 🌤️']);
      const response = await ask(world, mode);
      expect(plain(response)).toEqual([{ type: 'text', text: 'Grüße aus 台北, 25 °C. 🌤️' }]);
    });

    it('turn calls into segments by the names of the tools, arguments parsed', async () => {
      const parts: FakePart[] = [
        { text: 'Let me look.' },
        { call: { name: 'fs:read_file', args: ARGS, id: 'call_a' } },
        { call: { name: 'get_weather', args: { location: 'Taipei' }, id: 'call_b' } },
      ];
      await using world = await openWorld(open, [parts]);
      const response = await ask(world, mode);
      expect(plain(response)).toEqual([
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_call', toolCall: { id: 'call_a', name: 'fs:read_file', args: ARGS } },
        {
          type: 'tool_call',
          toolCall: { id: 'call_b', name: 'get_weather', args: { location: 'Taipei' } },
        },
      ]);
      expect(response.metadata?.finishReason).toBe('tool_calls');
    });

    it('keep the name of a tool that does not exist, for the core to correct', async () => {
      await using world = await openWorld(open, [[{ call: { name: 'read_fiel', args: {} } }]]);
      const [segment] = (await ask(world, mode)).segments;
      expect(segment?.toolCall).toMatchObject({ name: 'read_fiel', args: {} });
    });

    it('tell tokens, model and why they ended', async () => {
      const usage = { input: 30, output: 5, cacheRead: 10 };
      await using world = await openWorld(open, [{ say: [{ text: 'Yes' }], usage }]);
      const { metadata } = await ask(world, mode);
      expect(metadata).toMatchObject({
        finishReason: 'stop',
        usage: { inputTokens: 30, outputTokens: 5, cacheReadTokens: 10 },
      });
      expect(metadata?.model).toEqual(expect.any(String));
      if (features.service) expect(metadata?.latencyMs).toEqual(expect.any(Number));
    });

    it.each(['length', 'content_filter'] as const)('tell when they ended by %s', async (finish) => {
      await using world = await openWorld(open, [{ say: [{ text: 'Half a' }], finish }]);
      expect((await ask(world, mode)).metadata?.finishReason).toBe(finish);
    });

    if (features.interleaved) {
      it('keep words and calls in the order of the model', async () => {
        await using world = await openWorld(open, [
          [
            { text: 'First this.' },
            { call: { name: 'get_weather', args: { location: 'A' } } },
            { text: 'Then that.' },
            { call: { name: 'get_weather', args: { location: 'B' } } },
          ],
        ]);
        const { segments } = await ask(world, mode);
        expect(segments.map(({ type }) => type)).toEqual([
          'text',
          'tool_call',
          'text',
          'tool_call',
        ]);
        expect(segments.map(({ text, toolCall }) => text ?? toolCall?.args)).toEqual([
          'First this.',
          { location: 'A' },
          'Then that.',
          { location: 'B' },
        ]);
      });
    }

    if (features.reasoning) {
      it('keep reasoning apart from words', async () => {
        await using world = await openWorld(open, [
          [{ reasoning: 'The user greets me.', signature: 'sig' }, { text: 'Hello' }],
        ]);
        expect(plain(await ask(world, mode))).toEqual([
          { type: 'reasoning', text: 'The user greets me.' },
          { type: 'text', text: 'Hello' },
        ]);
      });
    }

    if (features.missingIds) {
      it('give a call without an id a UUID of its own', async () => {
        const call = { name: 'get_weather', args: {}, id: null };
        await using world = await openWorld(open, [[{ call }, { call }]]);
        const ids = (await ask(world, mode)).segments.map(({ toolCall }) => toolCall?.id);
        expect(ids).toEqual([expect.stringMatching(UUID), expect.stringMatching(UUID)]);
        expect(new Set(ids).size).toBe(2);
      });
    }

    if (features.argumentText) {
      it('show arguments that are no JSON as the text they are', async () => {
        const call = { name: 'get_weather', args: '{"location": "Tai' };
        await using world = await openWorld(open, [[{ call }]]);
        const [segment] = (await ask(world, mode)).segments;
        expect(segment?.toolCall?.args).toBe('{"location": "Tai');
      });

      it('take no arguments at all for an empty object', async () => {
        await using world = await openWorld(open, [[{ call: { name: 'get_weather', args: '' } }]]);
        const [segment] = (await ask(world, mode)).segments;
        expect(segment?.toolCall?.args).toEqual({});
      });
    }

    for (const kind of features.media) {
      it(`show ${kind} among words, in order`, async () => {
        const shown = { [kind]: PIXEL } as unknown as FakePart;
        await using world = await openWorld(open, [[{ text: 'Look:' }, shown, { text: 'Nice?' }]]);
        const segments = plain(await ask(world, mode));
        expect(segments.map(({ type }) => type)).toEqual(['text', kind, 'text']);
        expect(segments[1]).toMatchObject({ data: PIXEL, mimeType: expect.stringContaining(kind) });
      });
    }

    if (features.service) {
      it('fail, and say so, when nothing of them can be read', async () => {
        await using world = await openWorld(open, [{ garbage: 'Bad gateway, sorry' }]);
        const error = await failure(world, mode);
        expect(error).toMatchObject({ code: 'UPSTREAM_ERROR' });
      });
    }
  });

  it('streams what it would have answered at once', async () => {
    const parts: FakePart[] = [
      { text: 'One, two. ' },
      { call: { name: 'fs:read_file', args: ARGS, id: 'call_a' } },
      { call: { name: 'get_weather', args: { location: 'X' }, id: 'call_b' } },
    ];
    await using world = await openWorld(open, [parts, parts]);
    const buffered = await ask(world, 'buffered', { sessionId: 'one' });
    const streamed = await ask(world, 'streaming', { sessionId: 'one' });
    expect(plain(streamed)).toEqual(plain(buffered));
    expect(streamed.metadata?.usage).toEqual(buffered.metadata?.usage);
  });
}
