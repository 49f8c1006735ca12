// Names of MCP tools. An agent's capability is listed as `<agent_id>.<capability>` in characters
// every client accepts, at most 64 of them; clients that refuse dots get underscores. Names are
// one-way: the code that lists them keeps the index back, since two names may meet after mapping.

import { matchesGlob } from './glob.ts';
import { sha256Hex } from './sha256.ts';

export const TOOL_NAME_STYLES = ['dots', 'underscores'] as const;
export type ToolNameStyle = (typeof TOOL_NAME_STYLES)[number];

const MAX_LENGTH = 64;
const HASH_DIGITS = 8;

/**
 * The form in which names of capabilities, and globs over them, are compared: `fs:read_file` and
 * `fs.read_file` are two spellings of one name.
 */
export function normalName(name: string): string {
  return name.replaceAll(':', '.');
}

/** Whether a glob over capabilities, or over `agent/capability`, matches in any spelling. */
export function matchesName(glob: string, name: string): boolean {
  return matchesGlob(normalName(glob), normalName(name));
}

/** The one of this name; the same spelling first, where one agent has both. */
export function findNamed<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: string,
): Named | undefined {
  const normal = normalName(name);
  return all.find((one) => one.name === name) ?? all.find((one) => normalName(one.name) === normal);
}

/** The listed name of an agent's capability. */
export function toToolName(
  agentId: string,
  capability: string,
  style: ToolNameStyle = 'dots',
): string {
  return styleToolName(shorten(`${agentId}.${normalName(capability)}`), style);
}

/** One of our own dotted names (`fabric.call`) in the style the client asked for. */
export function styleToolName(name: string, style: ToolNameStyle): string {
  return style === 'dots' ? name : name.replaceAll('.', '_');
}

/** Every spelling a caller may use: as listed in both styles, and as the manifest writes it. */
export function toolNameSpellings(agentId: string, capability: string): string[] {
  const spellings = [
    toToolName(agentId, capability, 'dots'),
    toToolName(agentId, capability, 'underscores'),
    `${agentId}.${capability}`,
  ];
  return [...new Set(spellings)];
}

/** The listed name of a capability whose own name another tool has too. */
export function hashToolName(name: string, agentId: string, capability: string): string {
  const hash = sha256Hex(`${agentId}/${capability}`).slice(0, HASH_DIGITS);
  return `${name.slice(0, MAX_LENGTH - HASH_DIGITS - 1)}-${hash}`;
}

function shorten(name: string): string {
  if (name.length <= MAX_LENGTH) return name;
  const hash = sha256Hex(name).slice(0, HASH_DIGITS);
  return `${name.slice(0, MAX_LENGTH - HASH_DIGITS - 1)}-${hash}`;
}
