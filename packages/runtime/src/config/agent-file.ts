// The schema of `agent.json`. Unknown keys are errors; secrets are references.

import { connectionUrl } from '@starloom/config';
import { z } from 'zod';
import { providerSchema as ownProviderSchema } from '../providers/index.ts';
import { httpUrl, withUniqueNames } from './schemas.ts';

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
  steps: z.int().min(1).default(50).describe('Calls of the model in one turn'),
  tokens: z.int().min(1).default(100_000).describe('Tokens read and written in one turn'),
  seconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('Time of one turn, without approvals'),
  money: moneySchema.optional(),
  context_tokens: z
    .int()
    .min(1_000)
    .default(32_000)
    .describe('Beyond this, older parts of a conversation are summarised'),
});

const toolNames = z.array(z.string().min(1)).default([]);

const mandateSchema = z.strictObject({
  jwks: httpUrl.describe("The gateway's public keys: http://…/.well-known/jwks.json"),
  issuer: z.string().min(1).describe('The realm: issuer in that document'),
  audience: z.string().min(1).optional().describe('Its id at the gateway; default: its name'),
});

const exposeSchema = z.strictObject({
  tools: toolNames.describe('Tools that other agents may call; ask is the agent itself'),
  private: toolNames.describe('Tools that no one may call from outside, in any spelling'),
  mandate: mandateSchema.optional().describe('Serve only calls with a mandate of the gateway'),
});

const exposureSchema = z.strictObject({
  expose_tools: toolNames.describe('Tools that others may call; ask is the agent itself'),
  private_tools: toolNames.describe('Tools that are never exposed, in any spelling'),
  resources: z.array(z.string().min(1)).default([]).describe('Files that others may read'),
  mandate: mandateSchema
    .optional()
    .describe('Serve only calls with a mandate of the gateway, verified by the agent'),
});

const telemetrySchema = z.strictObject({
  otlp: connectionUrl(['http', 'https'])
    .nullable()
    .default(null)
    .describe('Collector that gets traces and logs by OTLP over HTTP; null sends none'),
});

const toolSearchSchema = z.strictObject({
  above: z
    .int()
    .min(1)
    .default(64)
    .describe('With more tools than this, the model is offered only those that fit the message'),
  top: z.int().min(1).max(64).default(12).describe('Number of tools that a search offers'),
  always: toolNames.describe('Tools that are always offered'),
});

const pluginSchema = z.strictObject({
  name: z
    .string()
    .min(1)
    .describe('A built-in plugin (fs, git, …), an npm package, or a file such as ./my-tools.ts'),
  config: z.record(z.string(), z.unknown()).default({}).describe('Settings of the plugin'),
});

const helperSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9_-]{0,30}$/,
        'expected 1 to 31 lower-case letters, digits, "_" and "-"',
      )
      .describe('Name of the helper'),
    description: z.string().min(1).max(500).describe('What it is for; the model chooses by it'),
    system_prompt: z.string().optional().describe('First message to its model'),
    provider: providerSchema.optional().describe('Its model; default: that of the agent'),
    tools: toolNames.describe('Tools of the agent that it may use; "fs:*": all of a plugin'),
    limits: z
      .strictObject({
        steps: z.int().min(1).optional().describe('Calls of its model for one task'),
        tokens: z.int().min(1).optional().describe('Tokens read and written for one task'),
        seconds: z.number().positive().max(86_400).optional().describe('Time of one task'),
      })
      .prefault({})
      .describe('What one task may use; never more than the turn has left'),
    process: z.boolean().default(false).describe('Runs in a process of its own'),
  })
  .refine(({ process, provider }) => !process || provider?.kind !== 'plugin', {
    path: ['provider'],
    error: 'a helper in a process of its own cannot use a provider of a plugin',
  });

const modelSchema = z.strictObject({
  name: z.string().min(1).max(100).describe('As editors show it'),
  provider: providerSchema.describe('The model'),
});

export const agentFileSchema = z.strictObject({
  name: z.string().min(1).max(100).describe('Name of the agent; its agent id is derived from it'),
  version: z.string().min(1).default('0.0.0').describe('Version of the agent'),
  description: z.string().optional().describe('What the agent is for'),
  provider: providerSchema.describe('The model'),
  models: withUniqueNames(z.array(modelSchema), 'two models have the same name').describe(
    'Other models that a session may choose',
  ),
  system_prompt: z.string().optional().describe('First message to the model'),
  plugins: withUniqueNames(z.array(pluginSchema), 'a plugin is listed twice').describe(
    'Plugins, which bring the tools',
  ),
  helpers: withUniqueNames(
    z.array(helperSchema).max(64),
    'two helpers have the same name',
  ).describe('Helpers that take tasks by agent:delegate, with fewer tools'),
  tool_search: toolSearchSchema.prefault({}).describe('How tools are offered when there are many'),
  expose: exposeSchema
    .prefault({})
    .describe('What others may call, over MCP, over A2A and from editors alike'),
  mcp: exposureSchema.prefault({}).describe('Resources over MCP; the older form of "expose"'),
  limits: limitsSchema.prefault({}).describe('What one turn may use'),
  telemetry: telemetrySchema.prefault({}).describe('What an OpenTelemetry collector gets'),
});

export type AgentFile = z.output<typeof agentFileSchema>;
export type AgentFileInput = z.input<typeof agentFileSchema>;
export type HelperEntry = AgentFile['helpers'][number];
export type PluginEntry = AgentFile['plugins'][number];

/**
 * The one policy for every protocol: what `expose` says, and what `mcp` says in the older form. The rest of
 * the runtime reads it from `mcp`.
 */
export function withExposure(agent: AgentFile): AgentFile {
  const { expose, mcp } = agent;
  const mandate = expose.mandate ?? mcp.mandate;
  return {
    ...agent,
    mcp: {
      ...mcp,
      expose_tools: [...new Set([...expose.tools, ...mcp.expose_tools])],
      private_tools: [...new Set([...expose.private, ...mcp.private_tools])],
      ...(mandate && { mandate }),
    },
  };
}
