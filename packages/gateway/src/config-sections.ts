// The sections of `starloom.yaml`: every key with its default, its bounds and its description.

import { connectionUrl, secret } from '@starloom/config';
import {
  agentIdSchema,
  capabilityNameSchema,
  MAX_DEPTH,
  nodeIdSchema,
  trustTierSchema,
} from '@starloom/core';
import { BUILT_IN_RULES, compileExpression, EFFECTS } from '@starloom/identity/policy';
import { isCron } from '@starloom/jobs';
import { z } from 'zod';
import { mtlsSchema, oauthSchema, tlsSchema } from './config-auth.ts';
import {
  checkRealmKey,
  checkSharedKey,
  checkSigningKey,
  refuseSame,
  scopesSchema,
} from './config-rules.ts';
import { TOOL_NAME_SETTINGS } from './mcp/tool-listing.ts';
import { TOOLSETS } from './tools/tool-lists.ts';

const GIBIBYTE = 1024 ** 3;
const DAY_MS = 24 * 60 * 60 * 1000;

const hostName = z.string().regex(/^(?:[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+)$/, {
  error: 'expected a host name or an address, without port and scheme',
});

export const listenSchema = z.strictObject({
  host: hostName
    .default('127.0.0.1')
    .describe('Host name or address to listen on; beyond loopback, callers need keys'),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(7420)
    .describe('TCP port to listen on; 0 picks a free one'),
  names: z
    .array(hostName)
    .max(100)
    .default([])
    .describe('Other names under which clients ask for it, such as that of a balancer before it'),
  tls: tlsSchema,
});

const globs = z.array(z.string().min(1).max(512)).max(100);

/** What agents that no file of this gateway lists may make it do; and where it runs itself. */
const sharedFields = {
  commands: globs
    .default([])
    .describe('Commands that agents which register may have run here, as globs; none by default'),
  secrets: globs
    .default([])
    .describe('Variables and files of this gateway that their manifests may name, as globs'),
  node_id: nodeIdSchema
    .optional()
    .describe('Node of this gateway, whose instances are called first; the host name by default'),
  region: z.string().min(1).max(64).optional().describe('Its instances are called next'),
};

export const registrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('yaml').describe('A file, read again when it changes'),
    path: z
      .string()
      .min(1)
      .default('./agents.yaml')
      .describe('The file with the agents, relative to this one'),
    ...sharedFields,
  }),
  z.strictObject({
    kind: z.literal('postgres').describe('Tables shared by several gateways'),
    url: connectionUrl(['postgres', 'postgresql']).describe('postgres://…, env:NAME or file:PATH'),
    keep_history_days: z
      .int()
      .min(1)
      .max(365)
      .default(7)
      .describe('How long changes of health are kept'),
    ...sharedFields,
  }),
  z.strictObject({
    kind: z.literal('etcd').describe('A registrar mesh with consensus'),
    endpoints: z
      .array(connectionUrl(['http', 'https']))
      .min(1)
      .describe('http(s):// addresses of the etcd members'),
  }),
  z.strictObject({
    kind: z.literal('package').describe('A backend from another npm package'),
    package: z
      .string()
      .regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, {
        error: 'expected the name of an npm package, such as @acme/registry',
      })
      .describe('Name of the npm package that holds the backend'),
    options: z
      .record(z.string(), z.unknown())
      .default({})
      .describe('Given to the backend as they are'),
  }),
]);

export const realmSchema = z.strictObject({
  key: secret({ check: checkRealmKey })
    .optional()
    .describe('The secret that the gateways of a fleet share, as env:NAME or file:PATH'),
});

const pskSchema = z.strictObject({
  key_id: z.string().min(1).describe('Name of the key, in logs and for revocation'),
  key: secret({ check: checkSharedKey }).describe('The key itself, as env:NAME or file:PATH'),
  principal: z.string().min(1).describe('Who a caller with this key is'),
  tier: trustTierSchema.default('org').describe('How far such a caller is trusted'),
  scopes: scopesSchema,
});

export const authSchema = z.strictObject({
  anonymous: z
    .boolean()
    .default(false)
    .describe('Serve callers without credentials; refused beyond loopback'),
  psk: z
    .array(pskSchema)
    .default([])
    .superRefine(refuseSame('key', 'key_id'))
    .describe('Shared keys, sent as "Authorization: Bearer <key>"'),
  oauth: oauthSchema,
  mtls: mtlsSchema,
});

export const mcpSchema = z.strictObject({
  tool_names: z
    .enum(TOOL_NAME_SETTINGS)
    .default('auto')
    .describe('How tool names are listed: auto chooses by client; both spellings can be called'),
  toolsets: z
    .array(z.enum(TOOLSETS))
    .default(['fabric', 'agents'])
    .describe('Which tools are listed; X-MCP-Toolsets or ?toolsets= asks for others'),
  list_limit: z
    .int()
    .positive()
    .optional()
    .describe('Tools in one page of tools/list, ours on the first; by default all are one page'),
  expose: z
    .union([z.literal('all'), z.array(z.string().min(1))])
    .default('all')
    .describe('Agents whose capabilities are listed as tools of their own: all, or a list'),
  unprefixed: z
    .array(agentIdSchema)
    .default([])
    .describe('Agents whose tools are listed without "<agent_id>." before them'),
});

const A2A_VERSIONS = ['1.0', '0.3'] as const;

export const a2aSchema = z.strictObject({
  versions: z
    .array(z.enum(A2A_VERSIONS))
    .min(1)
    .default([...A2A_VERSIONS])
    .describe('Versions of the protocol that are served'),
  public_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Where clients, and A2A agents that notify, reach the gateway; in cards by default the Host',
    ),
  grpc: z
    .strictObject({
      port: z.int().min(0).max(65_535).describe('TCP port, beside the one of HTTP'),
      certificate: secret().optional().describe('PEM of the certificate, as file:PATH'),
      key: secret().optional().describe('PEM of its private key, as file:PATH'),
    })
    .refine(({ certificate, key }) => (certificate === undefined) === (key === undefined), {
      error: 'certificate and key belong together',
    })
    .optional()
    .describe('Serve A2A over gRPC too; beyond loopback it needs a certificate'),
  signing_key: secret({ check: checkSigningKey })
    .optional()
    .describe('Signs the cards: a private key in PEM, Ed25519 or P-256, as env:NAME or file:PATH'),
});

const MAX_CALLS = 1_000_000;
const callsInFlight = z.int().min(1).max(MAX_CALLS).default(1024);

const rate = z.strictObject({
  calls: z.int().min(1).max(MAX_CALLS).describe('How many may begin in that time'),
  seconds: z.int().min(1).max(86_400).default(60).describe('The time, in seconds'),
  burst: z
    .int()
    .min(1)
    .max(MAX_CALLS)
    .optional()
    .describe('How many may begin at once after a pause; by default as many as in that time'),
});
const cost = z.number().min(0).max(1e12);

const principalLimitsSchema = z.strictObject({
  rate: rate.optional().describe('In place of rate_per_principal'),
  rpc_rate: rate.optional().describe('In place of rpc_rate_per_principal'),
  calls: z.int().min(1).max(MAX_CALLS).optional().describe('In place of calls_per_principal'),
  cost: cost.optional().describe('In place of cost_per_principal'),
});

const agentLimitsSchema = z.strictObject({
  rate: rate.optional().describe('In place of rate_per_agent'),
  calls: z.int().min(1).max(MAX_CALLS).optional().describe('In place of calls_per_agent'),
});

export const limitsSchema = z.strictObject({
  body_bytes: z
    .int()
    .min(1)
    .max(GIBIBYTE)
    .default(4 * 1024 ** 2)
    .describe('Largest request body, in bytes'),
  result_bytes: z
    .int()
    .min(1)
    .max(GIBIBYTE)
    .default(16 * 1024 ** 2)
    .describe('Largest result of one call, in bytes'),
  depth: z
    .int()
    .min(1)
    .max(100)
    .default(MAX_DEPTH)
    .describe('Longest chain of agents calling agents'),
  calls_per_principal: callsInFlight.describe('Calls that one caller may have in flight'),
  calls_per_agent: callsInFlight.describe('Calls that one agent may have in flight'),
  sockets_per_principal: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(2048)
    .describe('WebSockets and streams of events that one caller may have open'),
  bytes_per_principal: z
    .int()
    .min(1024 ** 2)
    .max(64 * GIBIBYTE)
    .default(256 * 1024 ** 2)
    .describe('Bytes held for one caller: requests in progress, and answers that it does not read'),
  rate_per_principal: rate.optional().describe('Calls that one caller may begin; off by default'),
  rate_per_agent: rate.optional().describe('Calls that one agent is given; off by default'),
  rpc_rate_per_principal: rate
    .optional()
    .describe('Messages of one caller to the coordination plane; off by default'),
  cost_per_principal: cost
    .optional()
    .describe("What one caller's calls may cost in a day (UTC), in the units of `cost`"),
  principals: z
    .record(z.string().min(1), principalLimitsSchema)
    .default({})
    .describe('Limits of single callers, by principal'),
  agents: z
    .record(agentIdSchema, agentLimitsSchema)
    .default({})
    .describe('Limits of single agents, by agent_id'),
  budget_calls: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(1000)
    .describe('Calls that agents may make below one call of a client, all together'),
  budget_ms: z
    .int()
    .min(1_000)
    .max(30 * DAY_MS)
    .default(DAY_MS)
    .describe('For how long after it such calls may begin, in milliseconds'),
});

export const mandatesSchema = z.strictObject({
  jobs_ms: z
    .int()
    .min(1)
    .max(DAY_MS)
    .default(DAY_MS / 24)
    .describe('How long after it is stored a job that an agent made with a mandate may begin'),
});

const heartbeat = z
  .int()
  .min(1)
  .max(DAY_MS)
  .default(30_000)
  .describe('How often a registered agent must report, in milliseconds');

export const coordinationSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('embedded').describe('In this process, with a log on disk'),
    heartbeat_interval_ms: heartbeat,
  }),
  z.strictObject({
    kind: z.literal('redis').describe('Shared by several gateways'),
    url: connectionUrl(['redis', 'rediss']).describe('redis://…, env:NAME or file:PATH'),
    heartbeat_interval_ms: heartbeat,
  }),
]);

const scheduleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, {
        error: 'expected lower case letters, digits, - and _',
      })
      .describe('Unique name of the schedule'),
    cron: z.string().min(1).describe('When: minute hour day month weekday'),
    timezone: z
      .string()
      .min(1)
      .default('UTC')
      .describe('Of the times in cron, such as Asia/Taipei'),
    agent_id: agentIdSchema.describe('Which agent is called'),
    capability: capabilityNameSchema.describe('What it shall do'),
    task: z.string().default('').describe('What you want, in words'),
    arguments: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("Arguments after the capability's input schema"),
    principal: z.string().min(1).default('local').describe('Who owns the jobs and may read them'),
  })
  .superRefine(({ cron, timezone }, context) => {
    if (isCron(cron, timezone)) return;
    const message = `"${cron}" in ${timezone} is not a schedule`;
    const params = { fix: 'write five fields: minute hour day month weekday' };
    context.addIssue({ code: 'custom', message, path: ['cron'], params });
  });

const jobRules = {
  schedules: z
    .array(scheduleSchema)
    .default([])
    .superRefine(refuseSame('schedule', 'name'))
    .describe('Calls that are made as jobs at certain times'),
  keep_hours: z.number().min(24).max(87_600).default(168).describe('How long finished jobs stay'),
  concurrency: z.int().min(1).max(10_000).default(256).describe('Jobs that run here at once'),
  per_agent: z.int().min(1).optional().describe('Jobs of one agent that run at once'),
  per_principal: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(10_000)
    .describe('Jobs of one caller that are not over'),
  bytes_per_principal: z
    .int()
    .min(1024)
    .max(1024 * GIBIBYTE)
    .default(4 * GIBIBYTE)
    .describe('Bytes that the jobs of one caller take; with sqlite at most a quarter of the disk'),
  ahead_hours: z
    .number()
    .min(1)
    .max(87_600)
    .default(2_208)
    .describe('How far ahead `run_at` of a job may lie'),
  webhook_hosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Hosts and ranges of our own network that webhooks may reach'),
};

export const jobsSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sqlite').describe('A file of this gateway'), ...jobRules }),
  z.strictObject({
    kind: z.literal('postgres').describe('Shared by several gateways'),
    url: connectionUrl(['postgres', 'postgresql']).describe('postgres://…, env:NAME or file:PATH'),
    documents: z.string().min(1).optional().describe('A folder for large results, shared by all'),
    ...jobRules,
  }),
]);

const journalRules = {
  calls: z
    .int()
    .min(100)
    .max(10_000_000)
    .default(50_000)
    .describe('How many calls are kept; the oldest go first'),
  payloads: z
    .enum(['none', 'redacted'])
    .default('none')
    .describe('Whether arguments and results are kept, shortened and without known secrets'),
};

export const journalSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sqlite').describe('A file of this gateway'), ...journalRules }),
  z.strictObject({
    kind: z.literal('postgres').describe('Shared by several gateways'),
    url: connectionUrl(['postgres', 'postgresql']).describe('postgres://…, env:NAME or file:PATH'),
    ...journalRules,
  }),
  z.strictObject({ kind: z.literal('off').describe('Calls are not written down') }),
]);

const ruleSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, { error: 'expected lower case letters, digits, - and _' })
    .refine((name) => !BUILT_IN_RULES.some((builtIn) => builtIn === name), {
      error: 'is the name of a built-in rule',
      params: { fix: 'give it another name' },
    })
    .describe('Unique name of the rule; it stands in every decision'),
  when: z
    .string()
    .superRefine((text, context) => {
      const compiled = compileExpression(text);
      if (!('message' in compiled)) return;
      const { message, fix } = compiled;
      context.addIssue({ code: 'custom', message, params: { fix } });
    })
    .describe('CEL expression over principal, agent, capability, depth, time and origin'),
  effect: z
    .enum(EFFECTS)
    .describe('allow, deny, or degrade: other agents serve the call, without streaming'),
  reason: z.string().min(1).max(500).optional().describe('Shown to a caller that is refused'),
});

export const policySchema = z.strictObject({
  rules: z
    .array(ruleSchema)
    .max(1_000)
    .default([])
    .superRefine(refuseSame('rule', 'name'))
    .describe('Asked in this order; the first that matches decides. Rules narrow scopes'),
  default: z
    .enum(['allow', 'deny'])
    .default('allow')
    .describe('What holds when no rule matches; allow leaves it to scopes and tiers'),
  untrusted: z
    .enum(['deny', 'degrade'])
    .default('deny')
    .describe("Calls whose origin is below an agent's auth.min_tier"),
});

export const telemetrySchema = z.strictObject({
  otlp: connectionUrl(['http', 'https'])
    .nullable()
    .default(null)
    .describe(
      'Collector that gets traces, logs and metrics by OTLP over HTTP; null sends none. An address that ends with /v1/traces gets traces alone',
    ),
  log_level: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe level that is logged'),
});

export const consoleSchema = z.strictObject({
  enabled: z.boolean().default(true).describe('Serves the web page at /console/'),
  commands: z
    .boolean()
    .default(false)
    .describe('Lets operators on this machine add agents that are commands, from the page'),
  client_id: z
    .string()
    .min(1)
    .max(2_048)
    .optional()
    .describe('Of the page at the issuers of auth.oauth: people sign in there then'),
});

export const pinningSchema = z.strictObject({
  mode: z
    .enum(['first_use', 'strict', 'off'])
    .default('first_use')
    .describe('When tools of agents are approved: when first seen, by command alone, or always'),
});
