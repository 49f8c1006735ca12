// What is known of an agent. The first fields are the seed's, as `agents.yaml` writes them; the
// rest is ours. A manifest is a wire document: it keeps its snake_case spelling in memory.

import { z } from 'zod';
import { TOOL_ERROR } from './errors.ts';
import { agentIdSchema, capabilityNameSchema, nodeIdSchema } from './names.ts';
import { DEFAULT_TIER, trustTierSchema } from './trust-tier.ts';

/** Which other agents may serve a call: none, those named in `fallbacks`, or peers too. */
const FALLBACK_MODES = ['none', 'named', 'peers'] as const;
export type FallbackMode = (typeof FALLBACK_MODES)[number];

/** A foreign JSON Schema: kept as it is, compiled where it is used. */
const foreignSchema = z.record(z.string(), z.unknown());

const DAY_MS = 24 * 60 * 60 * 1000;

const retriesSchema = z.strictObject({
  attempts: z.int().min(1).max(100).optional().describe('Attempts in all; 3 by default'),
  backoff_ms: z
    .int()
    .min(0)
    .max(DAY_MS)
    .optional()
    .describe('Least wait before the second attempt; doubles with each further one; 1000'),
  max_backoff_ms: z.int().min(0).max(DAY_MS).optional().describe('Longest wait; 60000'),
});

const tasksSchema = z.strictObject({
  support: z
    .enum(['optional', 'required'])
    .default('optional')
    .describe('required: refused to clients without the Tasks extension'),
  after_ms: z
    .int()
    .min(0)
    .max(DAY_MS)
    .default(1_000)
    .describe('How long the client waits for the result itself; 0 always makes a task'),
});

export const capabilitySchema = z
  .strictObject({
    name: capabilityNameSchema.describe('Name callers use'),
    streaming: z.boolean().default(false).describe('Can the agent stream tokens?'),
    modalities: z.array(z.string().min(1)).default(['text']).describe('text, image, audio, …'),
    title: z.string().optional().describe('Its name for people'),
    description: z.string().optional().describe('What it does, for people and models'),
    annotations: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Hints such as readOnlyHint and destructiveHint'),
    mcp: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('What an MCP agent says of its tool beyond these: icons, execution, _meta'),
    input_schema: foreignSchema.optional().describe('JSON Schema of the arguments'),
    output_schema: foreignSchema.optional().describe('JSON Schema of the structured result'),
    timeout_ms: z.int().positive().optional().describe('How long one attempt usually may take'),
    deadline_ms: z
      .int()
      .positive()
      .optional()
      .describe('How long a whole call may take, with its retries and fallbacks'),
    retries: retriesSchema.optional().describe('How often a job tries it, and how long it waits'),
    tasks: tasksSchema.optional().describe('Calls of its tool may become tasks (MCP Tasks)'),
    idempotent: z
      .boolean()
      .optional()
      .describe('true: may always be tried elsewhere; false: only if it was never sent'),
    cost: z
      .number()
      .min(0)
      .optional()
      .describe('What one call costs of limits.cost_per_principal, in any unit; 0 by default'),
    reentrant: z.boolean().default(false).describe('May it appear twice on one call chain?'),
    tool: z.string().min(1).optional().describe('Its name at the agent, when it differs'),
    fallback: z.enum(FALLBACK_MODES).optional().describe('As for the agent, for this capability'),
    fallback_on: z
      .array(z.enum([TOOL_ERROR]))
      .optional()
      .describe("Asks named fallbacks also after the agent's own error; needs idempotent: true"),
  })
  .check((context) => {
    const { fallback_on, idempotent } = context.value;
    if (!fallback_on?.length || idempotent === true) return;
    const message = 'needs "idempotent: true": the agent may have acted before it answered';
    context.issues.push({ code: 'custom', message, path: ['fallback_on'], input: fallback_on });
  });

export const endpointSchema = z
  .strictObject({
    transport: z.enum(['http', 'stdio', 'process', 'node']).describe('How the agent is reached'),
    protocol: z
      .string()
      .min(1)
      .optional()
      .describe('Which adapter: mcp (default for http, stdio), local-process or process, http, …'),
    uri: z.url().optional().describe('Address of an http agent'),
    command: z.string().min(1).optional().describe('Program of a stdio or process agent'),
    args: z.array(z.string()).optional().describe('Its arguments'),
    env: z.record(z.string(), z.string()).optional().describe('Environment variables for it'),
    headers: z.record(z.string(), z.string()).optional().describe('Headers of every request to it'),
    tls: z
      .strictObject({
        certificate: z.string().min(1).optional().describe('PEM of our certificate, as file:PATH'),
        key: z
          .string()
          .regex(/^(?:env|file):./, {
            error: 'the private key is plain text in this file; write file:PATH',
          })
          .optional()
          .describe('PEM of its private key, as file:PATH'),
        ca: z.string().min(1).optional().describe('PEM of the CA of the agent, as file:PATH'),
      })
      .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), {
        error: 'certificate and key belong together',
      })
      .optional()
      .describe('How the gateway proves itself to an https agent, and whom it trusts'),
    options: z.record(z.string(), z.unknown()).optional().describe('Settings of its adapter'),
  })
  .check((context) => {
    const { transport, uri, command } = context.value;
    if (transport === 'node') return;
    const missing = transport === 'http' ? uri === undefined && 'uri' : !command && 'command';
    if (missing) {
      const message = `transport ${transport} needs "${missing}"`;
      context.issues.push({ code: 'custom', message, path: [missing], input: context.value });
    }
  });

/** Of an agent whose manifest does not say it. */
export const UNKNOWN_VERSION = '0.0.0';

const globs = z.array(z.string().min(1).max(128)).max(100);

const manifestFields = z.strictObject({
  agent_id: agentIdSchema.describe('Unique name of the agent'),
  node_id: nodeIdSchema.default('local').describe('Machine it runs on'),
  region: z.string().min(1).max(64).optional().describe('Where that machine is'),
  weight: z
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .describe('Its share of the calls beside other instances; 100 by default, 0 takes none'),
  version: z.string().min(1).default(UNKNOWN_VERSION).describe('Version of the agent'),
  description: z.string().optional().describe('What the agent is for'),
  endpoint: endpointSchema.describe('How the gateway reaches the agent'),
  capabilities: z
    .array(capabilitySchema)
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
      error: 'two capabilities have the same name',
    })
    .optional()
    .describe('What it serves; without this key, everything the agent says it offers'),
  tools: z
    .strictObject({
      include: globs.optional().describe('Only capabilities that match one of these globs'),
      exclude: globs.optional().describe('No capability that matches one of these globs'),
    })
    .optional()
    .describe('Which capabilities are served, by globs such as "read_*"'),
  trust_tier: trustTierSchema.default(DEFAULT_TIER).describe('How far it is trusted'),
  tags: z.array(z.string().min(1)).default([]).describe('Free words to find it by'),
  pass_meta: z
    .boolean()
    .optional()
    .describe(
      'Does an MCP agent receive the keys of _meta that a client adds? By default if tier is local or org',
    ),
  fallbacks: z.array(agentIdSchema).default([]).describe('Agents to try when this one fails'),
  fallback: z
    .enum(FALLBACK_MODES)
    .optional()
    .describe('Who may serve its calls instead: none, named (fallbacks), peers (the default)'),
  auth: z
    .strictObject({
      mandate: z.boolean().default(false).describe('Send a mandate with every call'),
      principal: z.string().min(1).optional().describe('The principal it calls back as'),
      min_tier: trustTierSchema
        .optional()
        .describe('Least trusted tier that may call it, also at the start of a chain of calls'),
      may_call: z
        .array(z.string().min(1).max(200))
        .max(64)
        .optional()
        .describe('What it may call for its callers, as scopes: agent:…, capability:agent/name'),
    })
    .optional()
    .describe('What the agent wants to know of the caller'),
});

export const manifestSchema = manifestFields.check((context) => {
  const { agent_id, fallbacks } = context.value;
  const itself = fallbacks.indexOf(agent_id);
  if (itself !== -1) {
    const message = 'an agent cannot be its own fallback';
    const path = ['fallbacks', itself];
    context.issues.push({ code: 'custom', message, path, input: agent_id });
  }
});

/** `agents.yaml`: a list of manifests, each agent once per node. */
export const agentsFileSchema = z.array(manifestSchema).check((context) => {
  const seen = new Set<string>();
  for (const [index, { agent_id, node_id }] of context.value.entries()) {
    const key = `${agent_id}@${node_id}`;
    if (seen.has(key)) {
      const message = `agent "${agent_id}" is listed twice on node "${node_id}"`;
      const path = [index, 'agent_id'];
      context.issues.push({ code: 'custom', message, path, input: agent_id });
    }
    seen.add(key);
  }
});

export type Manifest = z.infer<typeof manifestSchema>;
export type ManifestInput = z.input<typeof manifestSchema>;
export type Capability = z.infer<typeof capabilitySchema>;
export type Endpoint = z.infer<typeof endpointSchema>;
