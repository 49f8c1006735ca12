import { providerContract } from '@starloom/sdk/testing';
import { describe } from 'vitest';
import { subjectOf } from './fixtures/open-subject.ts';

describe('[P3][P4][P5][P7] any service that speaks chat completions', () => {
  providerContract(
    'openai-compatible',
    subjectOf('openai-chat', { kind: 'openai-compatible', model: 'llama' }),
    { interleaved: false, signatures: false, media: ['image', 'audio', 'video'] },
  );
});
