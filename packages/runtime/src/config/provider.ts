import { z } from 'zod';
import { providerSchema as ownProviderSchema } from '../providers/index.ts';

const pluginProviderSchema = z.strictObject({
  kind: z.literal('plugin').describe('A provider that one of the plugins brings'),
  name: z.string().min(1).describe('Name of the provider'),
});

export const providerSchema = z.discriminatedUnion('kind', [
  ...ownProviderSchema.options,
  pluginProviderSchema,
]);

export type ProviderConfig = z.output<typeof providerSchema>;
