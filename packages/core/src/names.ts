// Names of agents, nodes, capabilities and protocols: what they may be, and which spellings are one name.

import { z } from 'zod';
import type { Capability, Endpoint } from './manifest.ts';

/** First segments of our own tool names; an agent so named would shadow them. */
export const RESERVED_AGENT_IDS = ['fabric', 'session', 'context', 'lock', 'buffer'] as const;

export const agentIdSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,30}$/, {
    error: 'expected 1 to 31 of a-z, 0-9, "_" and "-", starting with a letter or digit',
  })
  .refine((id) => !RESERVED_AGENT_IDS.some((reserved) => reserved === id), {
    error: `is reserved; reserved names are ${RESERVED_AGENT_IDS.join(', ')}`,
  });

export const nodeIdSchema = z
  .string()
  .min(1)
  .max(128)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  .regex(/^[^\u0000-\u001f\u007f]*$/, { error: 'expected text without control characters' });

/** What a capability may be called. */
export const CAPABILITY_NAME = /^[A-Za-z0-9_.:-]{1,64}$/;

export const capabilityNameSchema = z.string().regex(CAPABILITY_NAME, {
  error: 'expected 1 to 64 of A-Z, a-z, 0-9, "_", ".", ":" and "-"',
});

/**
 * The form in which names of capabilities, and globs over them, are compared: `fs:read_file` and
 * `fs.read_file` are two spellings of one name.
 */
export function normalName(name: string): string {
  return name.includes(':') ? name.replaceAll(':', '.') : name;
}

/** The one of this name; the same spelling first, where one agent has both. */
export function findNamed<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: string,
): Named | undefined {
  if (all.length > MAX_SCANNED) return indexOf(all).get(name) ?? indexOf(all).get(normalName(name));
  for (const one of all) if (one.name === name) return one;
  if (all.length === 0) return undefined;
  const normal = normalName(name);
  return all.find((one) => normalName(one.name) === normal);
}

/** Longer lists are looked up by an index, made once: the last tool of an agent costs as the first. */
const MAX_SCANNED = 16;
const indexes = new WeakMap<object, ReadonlyMap<string, unknown>>();

function indexOf<Named extends { readonly name: string }>(
  all: readonly Named[],
): ReadonlyMap<string, Named> {
  const known = indexes.get(all);
  if (known) return known as ReadonlyMap<string, Named>;
  const index = new Map<string, Named>();
  for (const one of all.toReversed()) index.set(normalName(one.name), one);
  // A name as it is written counts more than one that only reads the same.
  for (const one of all.toReversed()) index.set(one.name, one);
  indexes.set(all, index);
  return index;
}

/** Of what an agent serves (a record), or of what its manifest declares; in any spelling. */
export function findCapability(
  { capabilities = [] }: { readonly capabilities?: readonly Capability[] | undefined },
  name: string,
): Capability | undefined {
  return findNamed(capabilities, name);
}

/** The adapter that speaks to this agent; `process` is another name of `local-process`. */
export function protocolOf(endpoint: Endpoint): string {
  const { protocol, transport } = endpoint;
  const own = transport === 'process' ? 'local-process' : 'mcp';
  return protocol === 'process' ? 'local-process' : (protocol ?? own);
}
