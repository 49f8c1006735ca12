// What an agent says of a capability reaches models and people: texts are cleaned of what cannot be seen,
// whatever protocol they came by. A name or value that an agent compares cannot be cleaned, since it
// would be another one: a capability that hides something there is left out.

import type { Capability } from '@starloom/core';
import { cleanText, hasHidden } from '@starloom/wire';

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
