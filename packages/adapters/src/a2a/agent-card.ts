// What is used of an agent's card, of version 1.0 or older. Lenient: servers leave out what they
// must not, and write null for empty lists.

import { FabricError } from '@starloom/core';
import { z } from 'zod';

export interface CardInterface {
  readonly url: string;
  /** In capitals: JSONRPC, HTTP+JSON, GRPC or another. */
  readonly binding: string;
  /** `1.0` or `0.3`, as the client speaks it. */
  readonly version: string;
  readonly tenant: string;
}

export interface CardSkill {
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
  if (!parsed.success) throw notACard(parsed.error);
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

function notACard(error: z.ZodError): FabricError {
  const [issue] = error.issues;
  return new FabricError('UPSTREAM_ERROR', 'The agent has no valid agent card at this address', {
    details: {
      reason: 'bad_card',
      field: issue?.path.join('.') ?? '',
      problem: issue?.message ?? '',
      fix: 'set endpoint.uri to the base address of the agent or to its card',
    },
  });
}
