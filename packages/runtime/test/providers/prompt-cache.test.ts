import { silentLog } from '@starloom/core';
import type { IAgentContext, ITool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { createCachedContent } from '../../src/providers/ai-sdk/cached-content.ts';
import { echo, tool } from '../core/world.ts';
import { startFakeModel } from './fake-model/fake-model.ts';
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

  it('are sent as they are where they are too small to be kept', async () => {
    const config = { kind: 'ai-sdk', package: '@ai-sdk/google', model: 'gemini' } as const;
    const [sent] = await sentBy('gemini', config, [echo]);
    expect(JSON.stringify(sent)).not.toMatch(/cache/i);
  });
});

describe('tools and system prompt that Gemini keeps under an id', () => {
  const config = { kind: 'ai-sdk', package: '@ai-sdk/google', model: 'gemini-2.5-pro' } as const;
  const large = { ...read, description: `Reads. ${'Long. '.repeat(800)}` };
  const open = () => subjectOf('gemini', config)(() => 'Fine.');
  const stepsOf = ({ model }: Awaited<ReturnType<typeof open>>) =>
    model?.storeRequests.map(({ method, path }) => `${method} ${path.replace('/v1beta/', '')}`);

  it('[P8] are uploaded once, shared by all sessions with the same tools, and deleted at the end', async () => {
    const subject = await open();
    const { provider, model, close } = subject;
    await Promise.all([
      provider.generate('One.', { ...contextOf([large]), sessionId: 'a' }),
      provider.generate('Two.', { ...contextOf([large]), sessionId: 'b' }),
    ]);
    await provider.generate('Three.', contextOf([large]));
    expect(stepsOf(subject)).toEqual(['POST cachedContents']);
    expect(model?.storeRequests[0]?.body).toMatchObject({
      model: 'models/gemini-2.5-pro',
      ttl: '600s',
      tools: [{ functionDeclarations: [{ name: 'test_read' }] }],
      systemInstruction: { parts: [{ text: expect.stringMatching(/^Be brief\./) }] },
    });
    for (const { body, tools } of model?.requests ?? []) {
      expect(Object.keys(body).toSorted()).toEqual([
        'cachedContent',
        'contents',
        'generationConfig',
      ]);
      expect(body.cachedContent).toBe('cachedContents/1');
      expect(tools).toMatchObject([{ name: 'test_read' }]);
    }
    await close();
    expect(stepsOf(subject)?.at(-1)).toBe('DELETE cachedContents/1');
  });

  it('[P8] have an id of their own when the tools differ', async () => {
    const { provider, model, close } = await open();
    await provider.generate('One.', contextOf([large]));
    await provider.generate('Two.', contextOf([large, echo]));
    const ids = model?.requests.map(({ body }) => body.cachedContent);
    expect(ids).toEqual(['cachedContents/1', 'cachedContents/2']);
    await close();
  });

  it('[P8] go with the question when the service has dropped them, and are then uploaded again', async () => {
    const subject = await open();
    const { provider, model, close } = subject;
    await provider.generate('One.', contextOf([large]));
    model?.dropStored();
    await provider.generate('Two.', contextOf([large]));
    expect(model?.requests.at(-1)?.body).toHaveProperty('tools');
    await provider.generate('Three.', contextOf([large]));
    expect(model?.requests.at(-1)?.body.cachedContent).toBe('cachedContents/2');
    await close();
  });

  it('[P8] are renewed while they are used, and uploaded again after their time', async () => {
    await using model = await startFakeModel({ api: 'gemini', script: () => 'Fine.' });
    let time = 0;
    const kept = createCachedContent({ fetch, log: silentLog, now: () => time });
    const url = `${model.baseUrl}/models/gemini-2.5-pro:generateContent`;
    const tools = [{ functionDeclarations: [{ name: 'a', description: 'x'.repeat(5000) }] }];
    const contents = [{ role: 'user', parts: [{ text: 'Hi.' }] }];
    const ask = async (at: number) => {
      time = at;
      const body = JSON.stringify({ contents, tools });
      expect((await kept.fetch(url, { method: 'POST', body })).status).toBe(200);
    };
    const methods = () => model.storeRequests.map(({ method }) => method);
    await ask(0);
    await ask(200_000);
    expect(methods()).toEqual(['POST']);
    await ask(400_000);
    await expect.poll(methods).toEqual(['POST', 'PATCH']);
    expect(model.storeRequests[1]).toMatchObject({
      path: '/v1beta/cachedContents/1?updateMask=ttl',
      body: { ttl: '600s' },
    });
    await ask(650_000);
    await ask(2_000_000);
    expect(methods()).toEqual(['POST', 'PATCH', 'POST']);
    await kept.close();
  });
});
