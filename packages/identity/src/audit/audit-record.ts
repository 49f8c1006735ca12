// The records of the audit log, which is a chained log. Its `open` names the file that it continues, and
// the key of the realm signs.

import { z } from 'zod';
import { chainedFields, signedFields } from '../chained-log.ts';
import { recordedFields } from '../policy/facts.ts';

const signed = { ...signedFields, kid: z.string() };

const callFields = {
  /** The rule of the policy that decided. */
  rule: z.string().optional(),
  ...recordedFields,
  agent_id: z.string().optional(),
  capability: z.string(),
  /** Others that may serve the call when the first one fails. */
  fallbacks: z.array(z.string()).optional(),
  code: z.string().optional(),
  reason: z.string().optional(),
  trace_id: z.string(),
  tool: z.string(),
};

const mintFields = {
  principal: z.string(),
  delegate: z.string(),
  grant: z.string(),
  cog: z.string(),
  audience: z.string(),
  cap: z.array(z.string()),
  scp: z.array(z.string()),
  depth: z.int(),
  jti: z.string(),
  /** SHA-256 of the mandate, and of what it was minted from. */
  hash: z.string(),
  parent: z.string().optional(),
  expires_at: z.iso.datetime(),
  budget: z.strictObject({ calls: z.int(), ms: z.int() }),
  trace_id: z.string(),
};

const deniedFields = {
  credential: z.string(),
  reason: z.string(),
  trace_id: z.string().optional(),
  /** Further ones in the same second, which have no line of their own. */
  more: z.int().optional(),
};

const pinFields = {
  decision: z.enum(['approved', 'held']),
  agent_id: z.string(),
  capabilities: z.array(z.strictObject({ name: z.string(), fingerprint: z.string() })),
  /** Who or what approved it, or why it is held. */
  by: z.string(),
};

/** The rules of the realm, as they hold here from now on. */
const policyFields = {
  decision: z.enum(['applied', 'cleared', 'unreadable']),
  revision: z.int(),
  rules: z.array(z.string()),
  /** SHA-256 of the rules. */
  hash: z.string(),
  /** Who shared or cleared them. */
  by: z.string(),
};

const openSchema = z.strictObject({
  type: z.literal('open'),
  version: z.literal(1),
  continues: z.strictObject({ file: z.string(), hash: z.string() }).nullable(),
  ...signed,
});

export const auditRecordSchema = z.discriminatedUnion('type', [
  openSchema,
  z.strictObject({
    type: z.literal('call'),
    decision: z.enum(['allow', 'deny', 'degrade']),
    ...callFields,
    ...chainedFields,
  }),
  z.strictObject({ type: z.literal('mint'), ...mintFields, ...chainedFields }),
  z.strictObject({ type: z.literal('denied'), ...deniedFields, ...chainedFields }),
  z.strictObject({ type: z.literal('pin'), ...pinFields, ...chainedFields }),
  z.strictObject({ type: z.literal('policy'), ...policyFields, ...chainedFields }),
  z.strictObject({ type: z.literal('lost'), entries: z.int(), ...chainedFields }),
  /** `interrupted`: before it the file could not be written for a while, as when the disk is full. */
  z.strictObject({ type: z.literal('seal'), interrupted: z.literal(true).optional(), ...signed }),
  z.strictObject({ type: z.literal('close'), ...signed }),
]);

export type AuditRecord = z.output<typeof auditRecordSchema>;
type Unplaced<One> = One extends unknown ? Omit<One, keyof typeof signed> : never;
/** A record before it has its place. */
export type AuditEntry = Unplaced<AuditRecord>;
