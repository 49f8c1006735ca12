// The table of providers. A new kind is a line in each of the two lists.

import { z } from 'zod';
import { openAiSdk } from './ai-sdk.ts';
import {
  aiSdkSchema,
  type OpenedProvider,
  openaiCompatibleSchema,
  type ProviderHost,
} from './provider-host.ts';
import { createScripted, scriptedSchema } from './scripted.ts';

export const providerSchema = z.discriminatedUnion('kind', [
  scriptedSchema,
  openaiCompatibleSchema,
  aiSdkSchema,
]);

export type ProviderConfig = z.output<typeof providerSchema>;

/** Secrets of `config` are resolved. Fails with BAD_INPUT when a package or its key is missing. */
export async function openProvider(
  config: ProviderConfig,
  host: ProviderHost,
): Promise<OpenedProvider> {
  switch (config.kind) {
    case 'scripted':
      return createScripted(config);
    case 'openai-compatible': {
      const { openOpenaiCompatible } = await import('./openai-compatible.ts');
      return openOpenaiCompatible(config);
    }
    case 'ai-sdk':
      return openAiSdk(config, host);
  }
}
