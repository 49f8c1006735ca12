import { agentIdSchema, capabilityNameSchema } from '@starloom/core';
import { z } from 'zod';
import { admit } from '../pipeline/origin.ts';
import { type PrepareDeps, prepare } from '../pipeline/prepare.ts';
import { reasonOf } from '../pipeline/route.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const previewSchema = z.strictObject({
  agent_id: agentIdSchema.optional().describe('Which agent; without it the best that offers it'),
  capability: capabilityNameSchema.describe('What it should do'),
  stream: z.boolean().default(false).describe('Would the call stream?'),
});

export function routePreviewTool(deps: PrepareDeps): Tool {
  return defineTool({
    name: 'fabric.route.preview',
    title: 'Preview a route',
    description: 'Shows who would serve a call, in which order and why. Nothing is executed.',
    input: previewSchema,
    output: {
      primary: { type: ['object', 'null'] },
      fallbacks: { type: 'array' },
      skipped: { type: 'array' },
    },
    annotations: READ_ONLY,
    async run(request, caller) {
      const { capability } = request;
      const guarded = await admit(caller, deps.guard);
      // Nothing is waited for, but an agent that was never reached is offline rather than without it.
      const terms = { waitMs: 1 };
      const { candidates, skipped } = await prepare(request, caller, guarded, deps, terms);
      const primaryId = candidates[0].record.manifest.agent_id;
      const [primary = null, ...fallbacks] = candidates.map((candidate, index) => {
        const { record, kind, availability } = candidate;
        const { manifest, health } = record;
        return {
          agent_id: manifest.agent_id,
          node_id: manifest.node_id,
          kind: index > 0 && kind === 'primary' ? 'instance' : kind,
          trust_tier: manifest.trust_tier,
          health: health.status,
          breaker: deps.breakers.state(candidate.circuit),
          availability,
          reason: reasonOf(candidate, primaryId, request),
        };
      });
      return { ok: true, capability, primary, fallbacks, skipped };
    },
  });
}
