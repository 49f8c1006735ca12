import { failure } from './reasons.ts';

interface CanonicalJsonOptions {
  /** RFC 8785 refuses them; where every text must have a form, they can be written escaped. */
  readonly loneSurrogates?: 'refuse' | 'escape';
}

/** RFC 8785: the same text for equal values. Throws BAD_INPUT for what is no I-JSON. */
export function canonicalJson(value: unknown, options: CanonicalJsonOptions = {}): string {
  if (value === null || typeof value === 'boolean') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (typeof value === 'string' && isWritable(value, options)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => canonicalJson(item === undefined ? null : item, options));
    return `[${items.join(',')}]`;
  }
  if (typeof value === 'object') return `{${membersOf(value, options).join(',')}}`;
  throw failure('not_json', { type: typeof value });
}

/** The same value with U+FFFD in place of lone surrogates, so that whatever came as JSON has a form. */
export function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(toWellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.toWellFormed(), toWellFormed(member)]),
  );
}

function isWritable(text: string, { loneSurrogates }: CanonicalJsonOptions): boolean {
  return loneSurrogates === 'escape' || text.isWellFormed();
}

/** Members sorted by UTF-16 code units, as JavaScript sorts; undefined ones are left out. */
function membersOf(value: object, options: CanonicalJsonOptions): string[] {
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member: unknown = value[key as keyof typeof value];
    if (member === undefined) continue;
    members.push(`${canonicalJson(key, options)}:${canonicalJson(member, options)}`);
  }
  return members;
}
