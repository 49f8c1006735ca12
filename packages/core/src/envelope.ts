// The canonical envelope: every call, from anywhere, is one of these before an adapter sees it.
// A wire document (it travels to agents as it is), so it keeps its snake_case spelling in memory.

import { z } from 'zod';
import { hopSchema } from './hop.ts';
import { type Fields, isObject } from './json.ts';
import { agentIdSchema, capabilityNameSchema } from './names.ts';
import { traceSchema } from './payload-schemas.ts';
import { trustTierSchema } from './trust-tier.ts';

export const AUTH_MODES = ['psk', 'passport', 'mtls', 'oauth', 'none'] as const;
/** What the gateway implements of the seed, as it is announced. */
export const PROFILE = { name: 'AF-MCP', version: '0.1' } as const;

export const RESPONSE_FORMATS = ['text', 'json', 'toolcalls'] as const;
export const DEFAULT_TIMEOUT_MS = 60_000;

const idOrNull = z.string().nullable().default(null);

export const authSchema = z.strictObject({
  mode: z.enum(AUTH_MODES),
  principal_id: idOrNull.describe('On whose behalf (claim prn)'),
  agent_passport_id: idOrNull,
  signature: idOrNull,
  key_id: idOrNull,
  delegate_id: idOrNull.describe('Who acts (claim sub)'),
  mandate_id: idOrNull.describe('Under which grant (claim mnd)'),
  cog_id: idOrNull.describe('Which running instance (claim cog)'),
  tier: trustTierSchema.default('public').describe('How far the caller is trusted'),
  cap: z.array(z.string()).default([]).describe('Capabilities granted'),
  scp: z.array(z.string()).default([]).describe('Scopes granted'),
});

export const attachmentSchema = z.strictObject({
  name: z.string().optional(),
  media_type: z.string().min(1),
  data: z.base64().optional().describe('The bytes, base64'),
  text: z.string().optional(),
  uri: z.url().optional(),
});

export const envelopeSchema = z.strictObject({
  trace: traceSchema,
  auth: authSchema,
  target: z.strictObject({
    agent_id: agentIdSchema,
    capability: capabilityNameSchema,
    timeout_ms: z.int().positive().default(DEFAULT_TIMEOUT_MS).describe('Bounds one attempt'),
    deadline_ms: z.int().positive().optional().describe('What is left of the whole call'),
  }),
  input: z.strictObject({
    task: z.string().default(''),
    arguments: z.record(z.string(), z.unknown()).optional().describe('Fit the input schema'),
    context: z.record(z.string(), z.unknown()).default({}),
    attachments: z.array(attachmentSchema).default([]),
  }),
  response: z.strictObject({
    stream: z.boolean().default(false),
    format: z.enum(RESPONSE_FORMATS).default('text'),
  }),
  hop: hopSchema,
  session_id: z.string().min(1).optional(),
  idempotency_key: z.string().min(1).max(256).optional(),
});

export type Envelope = z.infer<typeof envelopeSchema>;
export type EnvelopeInput = z.input<typeof envelopeSchema>;
export type Auth = z.infer<typeof authSchema>;
export type Attachment = z.infer<typeof attachmentSchema>;

/** An unknown value as an envelope with every default filled in, or a thrown `ZodError`. */
export function parseEnvelope(value: unknown): Envelope {
  return envelopeSchema.parse(value);
}

/**
 * What a capability is called with when the caller gave no arguments: its task and context, as far as
 * the schema has a place for them. Where there is no `task`, it is the one required text, if there
 * is exactly one.
 */
export function argumentsFromTask(
  { task, context }: Pick<Envelope['input'], 'task' | 'context'>,
  { properties, required, additionalProperties }: Readonly<Fields> = {},
): Record<string, unknown> {
  const all = { ...(task !== '' && { task }), ...context };
  if (!isObject(properties)) return additionalProperties === false ? {} : all;
  const known = Object.entries(all).filter(([name]) => Object.hasOwn(properties, name));
  const kept = Object.fromEntries(known);
  if (task === '' || Object.hasOwn(properties, 'task')) return kept;
  const texts = textsAmong(properties, required);
  const [only] = texts;
  return texts.length === 1 && only !== undefined ? { [only]: task, ...kept } : kept;
}

function textsAmong(properties: Readonly<Fields>, required: unknown): readonly string[] {
  if (!Array.isArray(required)) return [];
  return required.filter((name): name is string => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(property) && property.type === 'string';
  });
}
