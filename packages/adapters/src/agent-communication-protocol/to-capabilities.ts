import { type Capability, capabilityNameSchema, capabilitySchema } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { z } from 'zod';

const MAX_DESCRIPTION = 4_096;

const agentSchema = z.object({
  name: z.string(),
  description: z.string().nullish(),
  input_content_types: z.array(z.string()).nullish(),
  output_content_types: z.array(z.string()).nullish(),
});

/** Agents take messages: a task in words, beside it whatever else the caller gives. */
const INPUT_SCHEMA = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What the agent is asked, in words' } },
  required: ['task'],
};

/** An agent of a server as a capability; nothing for one whose manifest or name cannot be used. */
export function toCapability(value: unknown): Capability | undefined {
  const agent = agentSchema.safeParse(value);
  if (!agent.success || !capabilityNameSchema.safeParse(agent.data.name).success) return undefined;
  const { name, description, input_content_types, output_content_types } = agent.data;
  const types = [...(input_content_types ?? []), ...(output_content_types ?? [])];
  const said = cleanText(description, MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name,
    streaming: true,
    modalities: toModalities(types),
    ...(said && { description: said }),
    input_schema: INPUT_SCHEMA,
  });
}

function toModalities(types: readonly string[]): string[] {
  const kinds = types.map((type) => /^(image|audio|video)\//.exec(type)?.[1] ?? 'text');
  return [...new Set(['text', ...kinds])];
}
