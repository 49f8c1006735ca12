import { tryParseJson } from '@starloom/core';

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/**
 * The arguments of a call as a model wrote them. None are an empty object; JSON in a JSON string is
 * taken out of it. Text that is no JSON stays a string; the core reports it to the model.
 */
export function parseArguments(text: string): unknown {
  const value = parse(text);
  return typeof value === 'string' && value !== text ? parse(value) : value;
}

function parse(text: string): unknown {
  return text.trim() === '' ? {} : jsonOrText(text);
}

/** What the text says, or the text itself where it is no JSON. */
export function jsonOrText(text: string): unknown {
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}

/** Only those that are known. */
export function definedCounts<Key extends string>(
  counts: Readonly<Record<Key, number | undefined>>,
): Partial<Record<Key, number>> {
  const known = Object.entries(counts).filter(([, count]) => count !== undefined);
  return Object.fromEntries(known) as Partial<Record<Key, number>>;
}
