// What an agent serves: what its manifest declares, completed by what the agent says, or all that it
// offers. For each capability it is known which part of it the agent said.

import {
  type AgentDescription,
  type Capability,
  closestWord,
  findCapability,
  type Manifest,
  matchesName,
} from '@starloom/core';
import { cleanCapability } from './clean-capability.ts';

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

export interface Offers {
  readonly offers: readonly Offer[];
  readonly missing: readonly MissingCapability[];
  /** Left out: something is hidden in their names or values. */
  readonly unusable: readonly string[];
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
    if (own) return { named, own, served: completed(named, own) };
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
export function completed(named: Capability, own: Capability): Capability {
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
