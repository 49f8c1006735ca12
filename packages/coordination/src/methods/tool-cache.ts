import { z } from 'zod';
import { CACHE_SCOPES, type CacheScope } from '../cache/cache-index.ts';
import { jsonSchema } from '../json/json.ts';
import { defineMethod, keyName, request, sessionId, time, waitMs } from './define-method.ts';

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
    .meta({ title: 'CacheScope' })
    .default('principal')
    .describe('Which agents share it: all of the principal, one agent, or a session'),
  session_id: sessionId.optional().describe('For the scope "session"'),
};
const entry = {
  ...name,
  result: jsonSchema.describe('The result of the tool'),
  ttl_ms: z.int().min(1).max(DAY_MS).default(HALF_HOUR_MS).describe('How long it is valid'),
  tags: labels.describe('Labels by which it can be invalidated'),
  dependencies: labels.describe('Its sources; when one is invalidated, the result is, too'),
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

const getParams = request({
  ...name,
  ...shared,
  claim: z.boolean().default(false).describe('On a miss, claim the right to compute it'),
  claim_ttl_ms: z.int().min(1).max(600_000).default(60_000).describe('How long that may take'),
  wait_ms: waitMs.describe(
    'Wait for the caller that computes it; without one, a claim is returned',
  ),
});
export type CacheGet = z.output<typeof getParams>;

const putParams = request({ ...entry, ...shared, claim: claim.optional() });
export type CachePut = z.output<typeof putParams>;

const invalidateParams = request({
  tool: name.tool.optional(),
  params: jsonSchema.optional().describe('Only the result for these parameters'),
  tool_version: name.tool_version,
  tags: labels,
  dependencies: labels,
  ...shared,
});
export type CacheInvalidation = z.output<typeof invalidateParams>;

export const toolCacheMethods = {
  'tool_cache.get': defineMethod({
    summary:
      'A cached result. With claim or wait_ms one caller computes and the others wait for it: ' +
      'the caller that receives a claim computes and puts the result with it',
    params: getParams,
    result: z.object({
      hit: z.boolean(),
      result: jsonSchema.optional(),
      at: time.optional(),
      agent_id: z.string().optional().describe('The agent that computed it'),
      since: z.int().optional().describe('On a miss, for put'),
      claim: claim.optional(),
      expires_at: time.optional().describe('When the claim ends'),
      computing: z.boolean().optional().describe('Another caller computes it'),
    }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'read',
    needsAgent: isOfSomeAgents,
    run: async ({ services, caller }, params) => await services.cache.get(caller, params),
  }),

  'tool_cache.put': defineMethod({
    summary: 'Stores a result',
    params: putParams,
    result: z.object({
      stored: z.boolean().describe('False when it was outdated already; the claim is over, too'),
      key: z.string(),
    }),
    errors: ['not_found', 'role_too_low', 'stale_epoch', 'stale_token', 'quota'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    run: async ({ services, caller }, params) => await services.cache.put(caller, params),
  }),

  'tool_cache.abandon': defineMethod({
    summary: 'Gives up a claim; the next caller that waits computes the result',
    params: request({ ...name, ...shared, claim }),
    result: z.object({ abandoned: z.boolean() }),
    errors: ['not_found', 'stale_epoch'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    run: async ({ services, caller }, { claim: token, ...named }) => ({
      abandoned: await services.cache.abandon(caller, named, token),
    }),
  }),

  'tool_cache.invalidate': defineMethod({
    summary:
      'Invalidates results: of a tool, of a tool with these parameters, with a tag, or with a ' +
      'dependency. Results that are being computed become invalid, too',
    params: invalidateParams,
    result: z.object({ invalidated: z.int().describe('How many results were removed') }),
    errors: ['not_found', 'role_too_low', 'stale_epoch'],
    effect: 'write',
    needsAgent: isOfSomeAgents,
    run: async ({ services, caller }, params) => ({
      invalidated: await services.cache.invalidate(caller, params),
    }),
  }),

  'tool_cache.stats': defineMethod({
    summary: 'How many results there are, and how often they were used',
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
    run: async ({ services, caller }, { reset, ...where }) =>
      await services.cache.stats(caller, where, reset),
  }),
};
