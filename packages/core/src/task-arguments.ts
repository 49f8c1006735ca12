import type { Envelope } from './envelope.ts';
import { type Fields, isObject } from './json.ts';

/**
 * What a capability is called with when the caller gave no arguments: its task and context, as far as
 * the schema has a place for them. Where there is no `task`, it is the one required text, if there
 * is exactly one.
 */
export function argumentsFromTask(
  { task, context }: Pick<Envelope['input'], 'task' | 'context'>,
  { properties, required, additionalProperties }: Readonly<Fields> = {},
): Record<string, unknown> {
  const all = { ...(task !== '' && { task }), ...context };
  if (!isObject(properties)) return additionalProperties === false ? {} : all;
  const known = Object.entries(all).filter(([name]) => Object.hasOwn(properties, name));
  const kept = Object.fromEntries(known);
  if (task === '' || Object.hasOwn(properties, 'task')) return kept;
  const texts = textsAmong(properties, required);
  const [only] = texts;
  return texts.length === 1 && only !== undefined ? { [only]: task, ...kept } : kept;
}

function textsAmong(properties: Readonly<Fields>, required: unknown): readonly string[] {
  if (!Array.isArray(required)) return [];
  return required.filter((name): name is string => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(property) && property.type === 'string';
  });
}
