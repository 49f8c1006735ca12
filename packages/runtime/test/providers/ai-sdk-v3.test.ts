import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import type { Block, ContentSegment } from '@starloom/sdk';
import { providerContract } from '@starloom/sdk/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { LanguageModel } from '../../src/providers/ai-sdk/language-model.ts';
import { isLanguageModel } from '../../src/providers/ai-sdk/language-model.ts';
import { createAiSdkProvider } from '../../src/providers/ai-sdk.ts';
import { VersionThreeModel } from './fixtures/version-three-model.ts';

describe('models of interface version 3', () => {
  providerContract(
    'a model of version 3',
    async (script) => {
      const provider = createAiSdkProvider(new VersionThreeModel(script));
      return { provider, close: provider.close };
    },
    { service: false, media: ['image'] },
  );

  it('are shown files and addresses in their own shape', async () => {
    const model = Object.assign(new VersionThreeModel(['Seen.']), {
      supportedUrls: { 'image/*': [/^https:\/\/pictures\.test\//] },
    });
    const segments: ContentSegment[] = [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'image', data: 'https://pictures.test/cat.png' },
      { type: 'image', data: 'https://elsewhere.test/cat.png' },
    ];
    await createAiSdkProvider(model).generate('', { tools: new Map(), blocks: [user(segments)] });
    expect(model.calls[0]?.prompt).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: 'AAAA' },
          { type: 'file', mediaType: 'image/png', data: new URL('https://pictures.test/cat.png') },
          { type: 'text', text: '[image: https://elsewhere.test/cat.png]' },
        ],
      },
    ]);
  });

  it('fit the type by their structure, as those of version 4 do', () => {
    expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>();
    expectTypeOf<LanguageModelV4>().toExtend<LanguageModel>();
    expect(isLanguageModel(new VersionThreeModel([]))).toBe(true);
  });
});

function user(segments: readonly ContentSegment[]): Block {
  return {
    id: 'b1',
    role: 'user',
    segments,
    trust: 'trusted',
    type: 'instruction',
    source: 'user',
  };
}
