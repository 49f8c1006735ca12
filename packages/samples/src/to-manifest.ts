import type { ManifestInput } from '@starloom/core';
import { z } from 'zod';
import type { AgentCard } from './agent.ts';

type Place = Pick<ManifestInput, 'endpoint' | 'tags' | 'fallbacks' | 'trust_tier'>;

export interface SamplePlace extends Place {
  /** How long one attempt usually may take. */
  readonly timeoutMs?: number;
}

/** The manifest of a sample, with the schemas it checks its input and output by. */
export function toManifest(card: AgentCard, { timeoutMs, ...place }: SamplePlace): ManifestInput {
  const { id, capability, description, input, output } = card;
  return {
    agent_id: id,
    version: '0.1.0',
    description,
    trust_tier: 'local',
    ...place,
    capabilities: [
      {
        name: capability,
        description,
        streaming: true,
        modalities: ['text'],
        idempotent: true,
        input_schema: toJsonSchema(input, 'input'),
        output_schema: toJsonSchema(output, 'output'),
        ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      },
    ],
  };
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, override: dropSafeInteger });
  return { ...rest };
}

/** Says nothing that a reader of the schema would want to know. */
function dropSafeInteger({ jsonSchema }: { jsonSchema: { maximum?: number } }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
