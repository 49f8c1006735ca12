// The schema of `agent.json`. Unknown keys are errors; secrets are references.

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

const price = z.number().nonnegative();

const moneySchema = z
  .strictObject({
    limit: z.number().positive().describe('The most that one turn may cost, in any currency'),
    input: price.describe('Price of a million tokens read, in the same currency'),
    output: price.describe('Price of a million tokens written'),
    cache_read: price.optional().describe('Price of a million tokens read from a cache'),
    cache_write: price.optional().describe('Price of a million tokens written to a cache'),
  })
  .describe('Stops a turn that has become too expensive');

export const limitsSchema = z.strictObject({
  steps: z.int().min(1).default(50).describe('How often the model may be asked in one turn'),
  tokens: z.int().min(1).default(100_000).describe('Tokens read and written in one turn'),
  seconds: z.number().positive().max(86_400).default(600).describe('How long one turn may take'),
  money: moneySchema.optional(),
  context_tokens: z
    .int()
    .min(1_000)
    .default(32_000)
    .describe('Beyond this, older parts of a conversation are summed up'),
});

const toolNames = z.array(z.string().min(1)).default([]);

const mandateSchema = z.strictObject({
  jwks: z
    .url({ protocol: /^https?$/ })
    .describe("The gateway's public keys: http://…/.well-known/jwks.json"),
  issuer: z.string().min(1).describe('The realm, as "issuer" of that document'),
  audience: z.string().min(1).optional().describe('Id of the agent at the gateway; its name'),
});

const exposureSchema = z.strictObject({
  expose_tools: toolNames.describe('Tools that other agents may call, such as fs:read_file'),
  private_tools: toolNames.describe('Tools that are never exposed, whatever expose_tools says'),
  resources: z.array(z.string().min(1)).default([]).describe('Files that other agents may read'),
  mandate: mandateSchema
    .optional()
    .describe('Serve only calls with a mandate of the gateway, verified here'),
});

const toolSearchSchema = z.strictObject({
  above: z
    .int()
    .min(1)
    .default(64)
    .describe('With more tools than this, the model is offered those that fit the message'),
  top: z.int().min(1).max(64).default(12).describe('How many a search for tools gives'),
  always: toolNames.describe('Tools that are always offered'),
});

const pluginSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .describe('Of a built-in plugin (fs, git, …), an npm package, or a file such as ./my-tools.ts'),
  config: z.record(z.string(), z.unknown()).default({}).describe('Given to the plugin as it is'),
});

export const agentFileSchema = z.strictObject({
  name: z.string().min(1).max(100).describe('What the agent is called'),
  version: z.string().min(1).default('0.0.0').describe('Version of the agent'),
  description: z.string().optional().describe('What the agent is for'),
  provider: providerSchema.describe('The model'),
  system_prompt: z.string().optional().describe('First instructions for the model'),
  plugins: z
    .array(pluginSchema)
    .default([])
    .refine((plugins) => new Set(plugins.map(({ name }) => name)).size === plugins.length, {
      error: 'a plugin is listed twice',
    })
    .describe('What the agent can do'),
  tool_search: toolSearchSchema.prefault({}).describe('What is done with many tools'),
  mcp: exposureSchema.prefault({}).describe('What other agents may use of it'),
  limits: limitsSchema.prefault({}).describe('What one turn may use'),
});

export type AgentFile = z.output<typeof agentFileSchema>;
export type AgentFileInput = z.input<typeof agentFileSchema>;
export type PluginEntry = AgentFile['plugins'][number];
