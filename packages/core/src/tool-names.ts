// Names of MCP tools. An agent's capability is listed as `<agent_id>.<capability>` in characters
// every client accepts, at most 64 of them; clients that refuse dots get underscores. Names are
// one-way: the code that lists them keeps the index back, since two names may meet after mapping.

import { CAPABILITY_NAME, normalName } from './names.ts';

export const TOOL_NAME_STYLES = ['dots', 'underscores'] as const;
export type ToolNameStyle = (typeof TOOL_NAME_STYLES)[number];

/** Of a tool's name, for every client and model. */
export const MAX_TOOL_NAME = 64;
const HASH_DIGITS = 8;

/** Whether a glob over capabilities, or over `agent/capability`, matches in any spelling. */
export function matchesName(glob: string, name: string): boolean {
  return matchesGlob(normalName(glob), normalName(name));
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
  return withNameHash(name, `${agentId}/${capability}`);
}

/** The name as it is, where it may be one of ours; else the hash keeps apart what mapping joins. */
export function toCapabilityName(name: string): string {
  if (CAPABILITY_NAME.test(name)) return name;
  return withNameHash(name.replaceAll(/[^A-Za-z0-9_.:-]/g, '-'), name);
}

function shorten(name: string): string {
  return name.length <= MAX_TOOL_NAME ? name : withNameHash(name, name);
}

/** The beginning of a name with a hash that keeps it apart; at most 64 characters. */
export function withNameHash(name: string, hashed: string): string {
  const hash = sha256Hex(hashed).slice(0, HASH_DIGITS);
  return `${name.slice(0, MAX_TOOL_NAME - HASH_DIGITS - 1)}-${hash}`;
}

/**
 * Whether `text` matches a glob: `*` is any run of characters, `?` is one. Linear in both. A text
 * that is a glob itself matches when everything that it matches does; false when that is not certain.
 */
export function matchesGlob(glob: string, text: string, kind: 'text' | 'glob' = 'text'): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let resume = 0;
  while (position < text.length) {
    const one = glob[at];
    if (one === '*') {
      star = at;
      resume = position;
      at += 1;
    } else if (
      one === text[position] ||
      (one === '?' && !(kind === 'glob' && text[position] === '*'))
    ) {
      at += 1;
      position += 1;
    } else if (star !== -1) {
      at = star + 1;
      resume += 1;
      position = resume;
    } else return false;
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}

/** Of the text in UTF-8; for names and pins. */
export function sha256Hex(text: string): string {
  // Loaded with the first use: threads that only need the words of core never load it.
  return process.getBuiltinModule('node:crypto').hash('sha256', text);
}
