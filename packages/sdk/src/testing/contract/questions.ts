import { describe, expect, it } from 'vitest';
import type { Block } from '../../interfaces.ts';
import {
  ask,
  block,
  GET_WEATHER,
  lastRequest,
  MODES,
  type OpenSubject,
  openWorld,
  PIXEL,
  type ProviderFeatures,
  READ_FILE,
  toolMap,
} from './provider-subject.ts';

/** What the service is asked is what the context holds. */
export function questionsContract(open: OpenSubject, features: Required<ProviderFeatures>): void {
  describe('questions', () => {
    it('carry the prompt and the instructions of the agent', async () => {
      await using world = await openWorld(open, ['Hello']);
      await ask(world, 'buffered', { prompt: 'Who are you?', systemPrompt: 'You are Percy.' });
      const { system, messages } = lastRequest(world);
      expect(system).toContain('You are Percy.');
      expect(messages).toEqual([{ role: 'user', parts: [{ text: 'Who are you?' }] }]);
    });

    it('offer the tools that the context has at that moment', async () => {
      await using world = await openWorld(open, ['One', 'Two', 'Three']);
      const tools = toolMap(READ_FILE);
      await ask(world, 'buffered', { tools });
      expect(lastRequest(world).tools).toMatchObject([
        { description: READ_FILE.description, parameters: { required: ['path'] } },
      ]);
      tools.set(GET_WEATHER.name, GET_WEATHER);
      await ask(world, 'buffered', { tools });
      expect(lastRequest(world).tools).toHaveLength(2);
      tools.clear();
      await ask(world, 'buffered', { tools });
      expect(lastRequest(world).tools).toEqual([]);
    });

    it('tell two tools apart whose names differ only in what the service does not allow', async () => {
      const names = ['fs:read', 'fs.read', 'fs_read', 'fs/read'];
      const tools = toolMap(...names.map((name) => ({ ...READ_FILE, name, description: name })));
      await using world = await openWorld(open, ({ tools: offered }) =>
        offered.map(({ name }) => ({ call: { name, args: {} } })),
      );
      const { segments } = await ask(world, 'buffered', { tools });
      expect(segments.map(({ toolCall }) => toolCall?.name)).toEqual(names);
    });

    it('hold the conversation so far, each result behind its call', async () => {
      await using world = await openWorld(open, ['It says hello.']);
      await ask(world, 'buffered', { prompt: '', blocks: conversation() });
      const [question, calls, results] = lastRequest(world).messages;
      expect(question).toEqual({ role: 'user', parts: [{ text: 'What do the files say?' }] });
      expect(calls?.parts).toMatchObject([
        { text: 'I look.' },
        { call: { args: { path: 'a.txt' } } },
        { call: { args: { path: 'b.txt' } } },
      ]);
      expect(results?.role).toBe('user');
      expect(results?.parts).toMatchObject([
        { result: { text: expect.stringContaining('hello from a') } },
        { result: { text: expect.stringContaining('No such file') } },
      ]);
    });

    it('show pictures of the user', async () => {
      const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const;
      const segments = [{ type: 'text', text: 'What is this?' } as const, image];
      await using world = await openWorld(open, ['A pixel.']);
      await ask(world, 'buffered', { prompt: '', blocks: [block({ role: 'user', segments })] });
      expect(lastRequest(world).messages[0]?.parts).toMatchObject([
        { text: 'What is this?' },
        { media: { data: PIXEL, mimeType: 'image/png' } },
      ]);
    });

    if (features.signatures) {
      it.each(MODES)('give back what came with %s reasoning, as it was', async (mode) => {
        const reasoning = { reasoning: 'Think first.', signature: 'c2lnbmF0dXJl' };
        const call = { name: 'get_weather', args: { location: 'X' }, id: 'call_a' };
        await using world = await openWorld(open, [[reasoning, { call }], 'Sunny.']);
        const { segments } = await ask(world, mode);
        const output = [{ type: 'text', text: 'Sunny' } as const];
        const toolResult = { id: 'call_a', name: 'get_weather', output };
        const blocks = [
          block({ role: 'user', segments: [{ type: 'text', text: 'Weather?' }] }),
          block({ role: 'assistant', segments }),
          block({ role: 'tool', segments: [{ type: 'tool_result', toolResult }] }),
        ];
        await ask(world, mode, { prompt: '', blocks });
        expect(JSON.stringify(lastRequest(world).body)).toContain('c2lnbmF0dXJl');
      });
    }
  });
}

/** A question, two calls in one answer, and their results in the other order. */
function conversation(): Block[] {
  const call = (id: string, path: string) =>
    ({ type: 'tool_call', toolCall: { id, name: READ_FILE.name, args: { path } } }) as const;
  const result = (id: string, text: string, isError = false) =>
    block({
      role: 'tool',
      type: 'data',
      trust: 'untrusted',
      source: `tool:${READ_FILE.name}`,
      segments: [
        {
          type: 'tool_result',
          toolResult: { id, name: READ_FILE.name, output: [{ type: 'text', text }], isError },
        },
      ],
    });
  return [
    block({ role: 'user', segments: [{ type: 'text', text: 'What do the files say?' }] }),
    block({
      role: 'assistant',
      segments: [
        { type: 'text', text: 'I look.' },
        call('call_a', 'a.txt'),
        call('call_b', 'b.txt'),
      ],
    }),
    result('call_b', 'No such file', true),
    result('call_a', 'hello from a'),
  ];
}
