import { providerContract } from '@starloom/sdk/testing';
import { describe } from 'vitest';
import { subjectOf } from './fixtures/open-subject.ts';

describe('[P3][P5][P7] models of the AI SDK', () => {
  providerContract(
    'Gemini',
    subjectOf('gemini', { kind: 'ai-sdk', package: '@ai-sdk/google', model: 'gemini-3-flash' }),
    { argumentText: false, media: ['image'] },
  );

  providerContract(
    'OpenAI chat',
    subjectOf('openai-chat', {
      kind: 'ai-sdk',
      package: '@ai-sdk/openai',
      model: 'gpt-5',
      api: 'chat',
    }),
    { interleaved: false, reasoning: false, signatures: false, missingIds: false },
  );

  providerContract(
    'OpenAI responses',
    subjectOf('openai-responses', { kind: 'ai-sdk', package: '@ai-sdk/openai', model: 'gpt-5' }),
    { missingIds: false, media: ['image'] },
  );

  providerContract(
    'Anthropic',
    subjectOf('anthropic', {
      kind: 'ai-sdk',
      package: '@ai-sdk/anthropic',
      model: 'claude-sonnet-4-5',
    }),
    { missingIds: false },
  );

  providerContract(
    'OpenAI-compatible',
    subjectOf('openai-chat', {
      kind: 'ai-sdk',
      package: '@ai-sdk/openai-compatible',
      model: 'llama',
    }),
    { interleaved: false, signatures: false, missingIds: false },
  );
});
