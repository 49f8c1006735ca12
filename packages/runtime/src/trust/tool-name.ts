import type { ITool } from '@starloom/sdk';

/** The words of a tool's name in lower case, without the plugin or server before the colon. */
export function nameWords(name: string): string[] {
  const colon = name.indexOf(':');
  const owner = wordsOf(name.slice(0, Math.max(0, colon)));
  const own = wordsOf(name.slice(colon + 1));
  const repeated = owner.length > 0 && owner.every((word, index) => word === own[index]);
  return repeated && own.length > owner.length ? own.slice(owner.length) : own;
}

/** `userEmail`, `user_email` and `User-Email` are the same two words. */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Verbs that people use for the same thing. */
const SAME = [
  'create add make new write schedule generate set',
  'put store save keep remember note',
  'delete remove erase clear drop',
  'send message write mail email post',
  'update change edit modify set',
  'run execute start',
  'book reserve order',
].map((list) => list.split(' '));

/**
 * How a person may call the tool: by its command, or by its verb and one of its other words. Each word
 * stands for those that mean the same.
 */
export function toolNames({ name, command }: ITool): (readonly string[])[][] {
  const [verb = '', ...others] = nameWords(name);
  const verbs = [verb, ...SAME.filter((group) => group.includes(verb)).flat()];
  const byName = others.length === 0 ? [[verbs]] : [[verbs, others]];
  return command === undefined ? byName : [...byName, [[command]]];
}

/** A table of words, written as one text. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(' '));
}
