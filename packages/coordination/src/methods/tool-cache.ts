import { z } from 'zod';
import { CACHE_SCOPES, type CacheScope } from '../cache/cache-entry.ts';
import { jsonSchema } from '../json/json.ts';
import { defineMethod, request } from './define-method.ts';
import { exampleTime, keyName, sessionId, time, waitMs } from './fields.ts';

const DAY_MS = 86_400_000;
const HALF_HOUR_MS = 1_800_000;

const labels = z.array(keyName(256)).max(64).default([]);
const name = {
  tool: keyName(256).describe('The tool'),
  params: jsonSchema.default({}).describe('Its parameters; the order of members does not matter'),
  tool_version: z.string().max(128).optional().describe('Another version has other results'),
};
const shared = {
  scope: z
    .enum(CACHE_SCOPES)
    .default('principal')
    .describe('Who shares it: all agents of the principal, one agent, or a session'),
  session_id: sessionId.optional().describe('For the scope "session"'),
};
const entry = {
  ...name,
  result: jsonSchema.describe('What the tool gave'),
  ttl_ms: z.int().min(1).max(DAY_MS).default(HALF_HOUR_MS).describe('How long it is good'),
  tags: labels.describe('To invalidate it by'),
  dependencies: labels.describe('What it was made from; invalidated with that'),
  since: z
    .int()
    .optional()
    .describe(
      'As the miss gave it: an invalidation since then makes it void; by default since the claim',
    ),
};
const claim = z.int().describe('The right to compute it, as get gave it');

/** What a principal shares needs no agent. */
const isOfSomeAgents = ({ scope }: { readonly scope: CacheScope }) => scope !== 'principal';

export const toolCacheMethods = {
  'tool_cache.get': defineMethod({
    summary:
      'A cached result. With claim or wait_ms one caller computes and the others wait for it: ' +
      'the caller that receives a claim computes and puts the result with it',
    params: request({
      ...name,
      ...shared,
      claim: z.boolean().default(false).describe('On a miss, claim the right to compute it'),
      claim_ttl_ms: z.int().min(1).max(600_000).default(60_000).describe('How long that may take'),
      wait_ms: waitMs.describe(
        'Wait for the caller that computes it; without one, a claim is returned',
      ),
    }),
    result: z.object({
      hit: z.boolean(),
      result: jsonSchema.optional(),
      at: time.optional(),
      agent_id: z.string().optional().describe('Who computed it'),
      since: z.int().optional().describe('On a miss, for put'),
      claim: claim.optional(),
      expires_at: time.optional().describe('When the claim ends'),
      computing: z.boolean().optional().describe('Another caller computes it'),
    }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    needsAgent: isOfSomeAgents,
    example: {
      params: { tool: 'search', params: { q: 'leases' } },
      result: { hit: true, result: ['a', 'b'], at: exampleTime, agent_id: 'researcher' },
    },
    run: async ({ services, caller }, params) => await services.cache.get(caller, params),
  }),

  'tool_cache.put': defineMethod({
    summary: 'Keeps a result',
    params: request({ ...entry, ...shared, claim: claim.optional() }),
    result: z.object({
      stored: z.boolean().describe('False when it was outdated already; the claim is over, too'),
      key: z.string(),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'stale_token', 'quota'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    example: {
      params: { tool: 'search', params: { q: 'leases' }, result: ['a', 'b'], tags: ['web'] },
      result: { stored: true, key: 'c1b5c0f0d6f2' },
    },
    run: async ({ services, caller }, params) => await services.cache.put(caller, params),
  }),

  'tool_cache.abandon': defineMethod({
    summary: 'Gives up a claim; the next that waits computes',
    params: request({ ...name, ...shared, claim }),
    result: z.object({ abandoned: z.boolean() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    example: {
      params: { tool: 'search', params: { q: 'leases' }, claim: exampleTime },
      result: { abandoned: true },
    },
    run: async ({ services, caller }, { claim: token, ...named }) => ({
      abandoned: await services.cache.abandon(caller, named, token),
    }),
  }),

  'tool_cache.invalidate': defineMethod({
    summary:
      'Makes results void: those of a tool, of a tool with these parameters, with a tag, or made ' +
      'from something. Results that are being computed become void, too',
    params: request({
      tool: name.tool.optional(),
      params: jsonSchema.optional().describe('Only the result for these parameters'),
      tool_version: name.tool_version,
      tags: labels,
      dependencies: labels,
      ...shared,
    }),
    result: z.object({ invalidated: z.int().describe('Results that were there') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    example: { params: { dependencies: ['file:report.md'] }, result: { invalidated: 3 } },
    run: async ({ services, caller }, params) => ({
      invalidated: await services.cache.invalidate(caller, params),
    }),
  }),

  'tool_cache.stats': defineMethod({
    summary: 'How much there is, and how often it helped',
    params: request({ ...shared, reset: z.boolean().default(false).describe('Reset the counts') }),
    result: z.object({
      entries: z.int(),
      bytes: z.int(),
      hits: z.int(),
      misses: z.int(),
      hit_rate: z.number(),
      puts: z.int(),
      invalidated: z.int(),
      evicted: z.int(),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    example: {
      params: {},
      result: {
        entries: 1,
        bytes: 180,
        hits: 3,
        misses: 1,
        hit_rate: 0.75,
        puts: 1,
        invalidated: 0,
        evicted: 0,
      },
    },
    run: async ({ services, caller }, { reset, ...where }) =>
      await services.cache.stats(caller, where, reset),
  }),
};
