import type { IAgentContext, ITool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { echo, tool } from '../core/world.ts';
import { type PartialConfig, subjectOf } from './fixtures/open-subject.ts';

const read = tool('test:read', () => 'x');

function contextOf(tools: readonly ITool[]): IAgentContext {
  return { tools: new Map(tools.map((each) => [each.name, each])), systemPrompt: 'Be brief.' };
}

/** What was sent when the model was asked with these tools, once each. */
async function sentBy(
  api: Parameters<typeof subjectOf>[0],
  config: PartialConfig,
  ...offers: (readonly ITool[])[]
) {
  const { provider, model, close } = await subjectOf(api, config)(['One.', 'Two.', 'Three.']);
  try {
    for (const tools of offers) await provider.generate('Go.', contextOf(tools));
    return model?.requests.map(({ body }) => body) ?? [];
  } finally {
    await close();
  }
}

describe('tools and system prompt that stay the same', () => {
  it('[P8] are marked for the cache of Anthropic, at their end', async () => {
    const config = { kind: 'ai-sdk', package: '@ai-sdk/anthropic', model: 'claude' } as const;
    const sent = await sentBy('anthropic', config, [echo, read], [echo, read]);
    const mark = { type: 'ephemeral' };
    for (const { tools, system } of sent) {
      expect(tools).toMatchObject([{ name: 'test_echo' }, { name: 'test_read' }]);
      expect((tools as object[]).map((each) => 'cache_control' in each)).toEqual([false, true]);
      expect((tools as object[])[1]).toMatchObject({ cache_control: mark });
      const text = expect.stringMatching(/^Be brief\./);
      expect(system).toMatchObject([{ text, cache_control: mark }]);
    }
    expect(sent[1]?.tools).toEqual(sent[0]?.tools);
  });

  it.each([
    ['openai-chat', 'chat'],
    ['openai-responses', 'responses'],
  ] as const)('[P8] are found again at OpenAI by one key (%s)', async (name, api) => {
    const config = { kind: 'ai-sdk', package: '@ai-sdk/openai', model: 'gpt-5', api } as const;
    const sent = await sentBy(name, config, [echo, read], [echo, read], [echo]);
    const [first, second, third] = sent.map((body) => body.prompt_cache_key);
    expect(first).toMatch(/^starloom-[\w-]{32}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('leave a key of your own as it is', async () => {
    const options = { openai: { promptCacheKey: 'mine' } };
    const config = { kind: 'ai-sdk', package: '@ai-sdk/openai', model: 'gpt-5', options } as const;
    const [sent] = await sentBy('openai-responses', config, [echo]);
    expect(sent?.prompt_cache_key).toBe('mine');
  });

  it('are sent to other services as they are', async () => {
    const config = { kind: 'ai-sdk', package: '@ai-sdk/google', model: 'gemini' } as const;
    const [sent] = await sentBy('gemini', config, [echo]);
    expect(JSON.stringify(sent)).not.toMatch(/cache/i);
  });
});
