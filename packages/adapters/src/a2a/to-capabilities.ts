import { type Capability, capabilitySchema, toCapabilityName } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { CardSkill, CardView } from './agent-card.ts';

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 4_000;

/** What an agent is asked for whose card names no skill. */
const MESSAGE = 'message';

const INPUT_SCHEMA = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What you want, in words' } },
  required: ['task'],
};

/** The skills of a card; names that are not ours stay in `tool`. */
export function toCapabilities(card: CardView): Capability[] {
  if (card.skills.length === 0) return [toMessageCapability(card)];
  const byName = new Map<string, Capability>();
  for (const skill of card.skills) {
    const capability = toCapability(skill, card);
    if (!byName.has(capability.name)) byName.set(capability.name, capability);
  }
  return [...byName.values()];
}

/** The id of the skill that a capability is; `undefined` when the card does not have it. */
export function skillOf(card: CardView, tool: string): string | undefined {
  if (card.skills.length === 0) return tool;
  const skill = card.skills.find(({ id }) => id === tool || toCapabilityName(id) === tool);
  return skill?.id;
}

function toCapability(skill: CardSkill, { streaming }: CardView): Capability {
  const name = toCapabilityName(skill.id);
  const title = cleanText(skill.name, MAX_TITLE);
  const description = cleanText(skill.description, MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name,
    ...(name !== skill.id && { tool: skill.id }),
    streaming,
    modalities: toModalities(skill.inputModes),
    ...(title && { title }),
    ...(description && { description }),
    input_schema: INPUT_SCHEMA,
  });
}

function toMessageCapability({ description, streaming }: CardView): Capability {
  const said = cleanText(description, MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name: MESSAGE,
    streaming,
    ...(said && { description: said }),
    input_schema: INPUT_SCHEMA,
  });
}

/** `image/png` is `image`; data and documents are taken as files. */
function toModalities(modes: readonly string[]): string[] {
  const kinds = modes.map((mode) => mode.toLowerCase().split('/', 1).join(''));
  const known = kinds.map((kind) => (KINDS.has(kind) ? kind : 'file'));
  return known.length === 0 ? ['text'] : [...new Set(known)];
}

const KINDS = new Set(['text', 'image', 'audio', 'video']);
