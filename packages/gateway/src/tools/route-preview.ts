import { agentIdSchema, type Clock, capabilityNameSchema } from '@starloom/core';
import { z } from 'zod';
import { type Access, agentsForCall } from '../pipeline/authorise.ts';
import { admit, toPolicyCall } from '../pipeline/origin.ts';
import { type RouteDeps, reasonOf, route } from '../pipeline/route.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const argumentsSchema = z.strictObject({
  agent_id: agentIdSchema.optional().describe('Which agent; without it the best that offers it'),
  capability: capabilityNameSchema.describe('What it should do'),
  stream: z.boolean().default(false).describe('Would the call stream?'),
});

export function routePreviewTool(
  deps: Omit<RouteDeps, 'agents'> & Access & { readonly clock: Clock },
): Tool {
  return defineTool({
    name: 'fabric.route.preview',
    title: 'Preview a route',
    description: 'Shows who would serve a call, in which order and why. Nothing is executed.',
    input: argumentsSchema,
    output: {
      primary: { type: ['object', 'null'] },
      fallbacks: { type: 'array' },
      skipped: { type: 'array' },
    },
    annotations: READ_ONLY,
    async run({ agent_id, capability, stream }, caller) {
      const guarded = await admit(caller, deps.guard);
      const request = { agentId: agent_id, capability, stream };
      const policyCall = toPolicyCall(guarded, caller, deps.clock.now());
      const agents = agentsForCall(caller.principal, deps, policyCall);
      const { candidates, skipped } = route(request, guarded, { ...deps, agents });
      const primaryId = candidates[0].record.manifest.agent_id;
      const [primary = null, ...fallbacks] = candidates.map((candidate) => {
        const { record, kind, availability } = candidate;
        const { manifest, health } = record;
        return {
          agent_id: manifest.agent_id,
          node_id: manifest.node_id,
          kind,
          trust_tier: manifest.trust_tier,
          health: health.status,
          breaker: deps.breakers.state(manifest.agent_id),
          availability,
          reason: reasonOf(candidate, primaryId, request),
        };
      });
      return { ok: true, capability, primary, fallbacks, skipped };
    },
  });
}
