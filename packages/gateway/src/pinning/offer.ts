// What an agent serves: what its manifest declares, complete by what the agent says, or all that it
// offers. For each capability it is known which part of it the agent said.

import {
  type AgentDescription,
  type Capability,
  closestWord,
  findCapability,
  type Manifest,
  matchesName,
} from '@starloom/core';
import { cleanText, hasHidden, streamTurns } from '@starloom/wire';

/** One capability as it would be served. */
export interface Offer {
  readonly served: Capability;
  /** As the manifest declares it. */
  readonly named?: Capability | undefined;
  /** As the agent says it; absent when the agent does not offer it. */
  readonly own?: Capability | undefined;
}

/** A declared capability that the agent does not offer. */
export interface MissingCapability {
  readonly name: string;
  /** What may have been meant. */
  readonly near?: string;
}

interface Offers {
  readonly offers: readonly Offer[];
  readonly missing: readonly MissingCapability[];
  /** Left out: something is hidden in their names or values. */
  readonly unusable: readonly string[];
}

/** As `toOffers`, with few capabilities in each turn of the event loop: an agent may list thousands. */
export async function toOffersInTurns(
  manifest: Manifest,
  description: AgentDescription,
): Promise<Offers> {
  for (const capability of description.capabilities) {
    cleanCapability(capability);
    await streamTurns.enter(manifest.agent_id);
  }
  return toOffers(manifest, description);
}

export function toOffers(manifest: Manifest, { capabilities }: AgentDescription): Offers {
  const { capabilities: declared } = manifest;
  const isChosen = ({ name }: Capability) => isServed(manifest, name);
  const offered = capabilities.flatMap((capability) => cleanCapability(capability) ?? []);
  const unusable = capabilities
    .filter((capability) => !cleanCapability(capability))
    .map(({ name }) => name);
  if (declared === undefined) {
    const offers = offered.filter(isChosen).map((own) => ({ own, served: own }));
    return { offers, missing: [], unusable };
  }
  const missing: MissingCapability[] = [];
  const offers = declared.filter(isChosen).map((named) => {
    const own = findOffered(named, offered);
    if (own) return { named, own, served: complete(named, own) };
    const names = offered.map(({ name }) => name);
    const near = closestWord(named.tool ?? named.name, names);
    missing.push({ name: named.name, ...(near !== undefined && { near }) });
    return { named, served: named };
  });
  return { offers, missing, unusable };
}

/** Whether the operator lets the agent serve a capability of this name. */
export function isServed({ tools }: Manifest, name: string): boolean {
  const matches = (glob: string) => matchesName(glob, name);
  return (tools?.include?.some(matches) ?? true) && !tools?.exclude?.some(matches);
}

function findOffered(
  { tool, name }: Capability,
  offered: readonly Capability[],
): Capability | undefined {
  const asked = tool ?? name;
  const found = findCapability({ capabilities: offered }, asked);
  return found ?? offered.find((capability) => capability.tool === asked);
}

/** The manifest wins; the agent fills in what the manifest leaves out. */
export function complete(named: Capability, own: Capability): Capability {
  const { title, description, annotations, input_schema, output_schema, idempotent } = own;
  const { mcp, tasks } = own;
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(input_schema && { input_schema }),
    ...(output_schema && { output_schema }),
    ...(idempotent !== undefined && { idempotent }),
    ...(mcp && { mcp }),
    ...(tasks && { tasks }),
    ...named,
    ...(annotations && { annotations: { ...annotations, ...named.annotations } }),
  };
}

/** The offer of a capability as an adapter lists it; `undefined` when it must not be served. */
export function toOffer(manifest: Manifest, name: string, offered: Capability): Offer | undefined {
  const own = cleanCapability(offered);
  if (!own) return undefined;
  const named = findCapability(manifest, name);
  return { own, named, served: named ? complete(named, own) : own };
}

// What an agent says of a capability reaches models and people: texts are cleaned of what cannot be seen,
// whatever protocol they came by. A name or value that an agent compares cannot be cleaned, since it
// would be another one: a capability that hides something there is left out.

type Json = Readonly<Record<string, unknown>>;

const MAX_TITLE = 256;
const MAX_DESCRIPTION = 8_192;
const MAX_DEPTH = 128;

/** Keywords of a schema that are read by people and models alone. */
const TEXTS: ReadonlySet<string> = new Set(['title', 'description', '$comment']);
/** Keywords whose values are data, in which `description` may be a member like any other. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/** Made once per description: calls compare it too. */
const cleaned = new WeakMap<Capability, Capability | null>();

/** The same object when there is nothing to clean; `undefined` when it must not be served. */
export function cleanCapability(capability: Capability): Capability | undefined {
  const known = cleaned.get(capability);
  if (known !== undefined) return known ?? undefined;
  const clean = toClean(capability);
  cleaned.set(capability, clean ?? null);
  if (clean) cleaned.set(clean, clean);
  return clean;
}

function toClean(capability: Capability): Capability | undefined {
  const { tool = '', title, description, annotations, input_schema, output_schema } = capability;
  if (cleanText(tool, tool.length) !== tool) return undefined;
  if ([annotations, input_schema, output_schema].some((schema) => hides(schema, 0))) {
    return undefined;
  }
  const { title: _, description: __, ...rest } = capability;
  return {
    ...rest,
    ...text('title', title, MAX_TITLE),
    ...text('description', description, MAX_DESCRIPTION),
    ...(annotations && { annotations: withCleanTexts(annotations) }),
    ...(input_schema && { input_schema: withCleanTexts(input_schema) }),
    ...(output_schema && { output_schema: withCleanTexts(output_schema) }),
  };
}

function text<Key extends string>(key: Key, given: string | undefined, length: number) {
  const clean = cleanText(given, length);
  return (clean ? { [key]: clean } : {}) as { [name in Key]?: string };
}

/** Whether a key, or a value that an agent compares, has something that is not seen. */
function hides(value: unknown, depth: number, isData = false): boolean {
  if (typeof value === 'string') return hasHidden(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth > MAX_DEPTH) return true;
  if (Array.isArray(value)) return value.some((item) => hides(item, depth + 1, isData));
  return Object.entries(value).some(([key, member]) => {
    if (hasHidden(key)) return true;
    const isText = !isData && TEXTS.has(key) && typeof member === 'string';
    return !isText && hides(member, depth + 1, isData || DATA.has(key));
  });
}

function withCleanTexts(value: Json): Record<string, unknown> {
  const members = Object.entries(value).map(([key, member]) => {
    if (DATA.has(key)) return [key, member];
    if (TEXTS.has(key) && typeof member === 'string') {
      return [key, cleanText(member, MAX_DESCRIPTION)];
    }
    return [key, cleanMember(member)];
  });
  return Object.fromEntries(members);
}

function cleanMember(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleanMember);
  return typeof value === 'object' && value !== null ? withCleanTexts({ ...value }) : value;
}
