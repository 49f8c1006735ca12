// What is used of an agent's card, of version 1.0 or older. Lenient: servers leave out what they
// must not, and write null for empty lists.

import {
  type Capability,
  capabilitySchema,
  type FabricError,
  TASK_SCHEMA,
  toCapabilityName,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';

export interface CardInterface {
  readonly url: string;
  /** In capitals: JSONRPC, HTTP+JSON, GRPC or another. */
  readonly binding: string;
  /** `1.0` or `0.3`, as the client speaks it. */
  readonly version: string;
  readonly tenant: string;
}

interface CardSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly inputModes: readonly string[];
}

export interface CardView {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly streaming: boolean;
  /** It notifies webhooks of its tasks. */
  readonly push: boolean;
  /** More is to be had by a client that authenticates. */
  readonly extended: boolean;
  readonly interfaces: readonly CardInterface[];
  readonly skills: readonly CardSkill[];
}

const MAX_INTERFACES = 32;
const MAX_SKILLS = 1_000;

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value === true);
const list = <Item extends z.ZodType>(item: Item, most: number) =>
  z
    .array(item)
    .max(most)
    .nullish()
    .transform((value) => value ?? []);

const cardSchema = z.object({
  name: z.string().min(1),
  description: text,
  version: text,
  capabilities: z
    .object({ streaming: flag, pushNotifications: flag, extendedAgentCard: flag })
    .nullish(),
  supportedInterfaces: list(
    z.object({
      url: z.string().min(1),
      protocolBinding: text,
      protocolVersion: text,
      tenant: text,
    }),
    MAX_INTERFACES,
  ),
  skills: list(
    z.object({
      id: z.string().min(1),
      name: text,
      description: text,
      inputModes: list(z.string(), 64),
    }),
    MAX_SKILLS,
  ),
  defaultInputModes: list(z.string(), 64),
  // Of 0.3.
  url: text,
  preferredTransport: text,
  protocolVersion: text,
  additionalInterfaces: list(z.object({ url: z.string().min(1), transport: text }), MAX_INTERFACES),
  supportsAuthenticatedExtendedCard: flag,
});

type Card = z.infer<typeof cardSchema>;

/** Whether a JSON document is an agent card; used where a person gives a URL. */
export function isAgentCard(value: unknown): boolean {
  const { success, data } = cardSchema.safeParse(value);
  if (!success) return false;
  const isOld = data.url !== '' && (data.protocolVersion !== '' || data.skills.length > 0);
  return data.supportedInterfaces.length > 0 || isOld;
}

/** UPSTREAM_ERROR for a document that is no agent card. */
export function parseAgentCard(value: unknown): CardView {
  const parsed = cardSchema.safeParse(value);
  if (!parsed.success) throw notACard(parsed.error.issues[0]);
  const card = parsed.data;
  const interfaces = card.supportedInterfaces.length > 0 ? interfacesOf(card) : olderOnes(card);
  return {
    name: card.name,
    description: card.description,
    version: card.version,
    streaming: card.capabilities?.streaming ?? false,
    push: card.capabilities?.pushNotifications ?? false,
    extended:
      (card.capabilities?.extendedAgentCard ?? false) || card.supportsAuthenticatedExtendedCard,
    interfaces,
    skills: card.skills.map((skill) => ({
      ...skill,
      inputModes: skill.inputModes.length > 0 ? skill.inputModes : card.defaultInputModes,
    })),
  };
}

function interfacesOf({ supportedInterfaces }: Card): CardInterface[] {
  return supportedInterfaces.map(({ url, protocolBinding, protocolVersion, tenant }) => ({
    url,
    binding: protocolBinding.toUpperCase(),
    version: toSpoken(protocolVersion === '' ? '1.0' : protocolVersion),
    tenant,
  }));
}

function olderOnes(card: Card): CardInterface[] {
  const { url, preferredTransport, additionalInterfaces } = card;
  const all = [{ url, transport: preferredTransport }, ...additionalInterfaces];
  const version = toSpoken(card.protocolVersion === '' ? '0.3' : card.protocolVersion);
  return all.flatMap((one) => {
    if (one.url === '') return [];
    const binding = one.transport === '' ? 'JSONRPC' : one.transport.toUpperCase();
    return { url: one.url, binding, version, tenant: '' };
  });
}

/** The version that the client speaks to an agent of this one; others stay as they are. */
function toSpoken(version: string): string {
  if (/^0\.[0-3](\.|$)/.test(version)) return '0.3';
  return /^1(\.|$)/.test(version) ? '1.0' : version;
}

function notACard(issue: z.core.$ZodIssue | undefined): FabricError {
  const field = issue?.path.join('.') ?? '';
  return failure('bad_card', { field, problem: issue?.message ?? '' });
}

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 4_000;

/** What an agent is asked for whose card names no skill. */
export const MESSAGE = 'message';

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
    input_schema: TASK_SCHEMA,
  });
}

function toMessageCapability({ description, streaming }: CardView): Capability {
  const said = cleanText(description, MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name: MESSAGE,
    streaming,
    ...(said && { description: said }),
    input_schema: TASK_SCHEMA,
  });
}

/** `image/png` is `image`; data and documents are taken as files. */
function toModalities(modes: readonly string[]): string[] {
  const kinds = modes.map((mode) => mode.toLowerCase().split('/', 1).join(''));
  const known = kinds.map((kind) => (KINDS.has(kind) ? kind : 'file'));
  return known.length === 0 ? ['text'] : [...new Set(known)];
}

const KINDS = new Set(['text', 'image', 'audio', 'video']);
