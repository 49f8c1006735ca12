// What an agent lists of its resources and prompts reaches the lists of all clients: texts are
// cleaned and bounded, and entries that no client could use are left out.

import { cleanText } from '@starloom/wire';

type Entry = Readonly<Record<string, unknown>>;

const MAX_ENTRIES = 2_000;
const MAX_NAME = 256;
const MAX_URI = 4_096;
const MAX_DESCRIPTION = 4_096;
const MAX_LENGTH = 32_768;
/** A skill lists up to 512 files with their digests. */
const MAX_SKILL_LENGTH = 524_288;

export function cleanListing(entries: readonly unknown[]): Record<string, unknown>[] {
  return entries.slice(0, MAX_ENTRIES).flatMap((entry) => {
    const isUsable = isEntry(entry) && isNamed(entry) && JSON.stringify(entry).length <= MAX_LENGTH;
    return isUsable ? [withCleanTexts(entry)] : [];
  });
}

/** Of skills the client compares every word with the skill itself, so nothing is cleaned. */
export function usableSkills(entries: readonly unknown[]): Record<string, unknown>[] {
  return entries.slice(0, MAX_ENTRIES).flatMap((entry) => {
    const isUsable = isEntry(entry) && isPlain(entry.uri, MAX_URI);
    return isUsable && JSON.stringify(entry).length <= MAX_SKILL_LENGTH ? [{ ...entry }] : [];
  });
}

function isEntry(entry: unknown): entry is Entry {
  return typeof entry === 'object' && entry !== null;
}

/** A name is also what the agent is asked by: one that had to be cleaned would be another. */
function isNamed({ name, uri, uriTemplate }: Entry): boolean {
  return isPlain(name, MAX_NAME) && [uri, uriTemplate].every((at) => isPlain(at ?? '-', MAX_URI));
}

function isPlain(text: unknown, length: number): boolean {
  return typeof text === 'string' && text !== '' && cleanText(text, length) === text;
}

function withCleanTexts(entry: Entry): Record<string, unknown> {
  const { title, description } = entry;
  return {
    ...entry,
    ...(title !== undefined && { title: cleanText(title, MAX_NAME) }),
    ...(description !== undefined && { description: cleanText(description, MAX_DESCRIPTION) }),
    ...(Array.isArray(entry.arguments) && { arguments: cleanListing(entry.arguments) }),
  };
}
