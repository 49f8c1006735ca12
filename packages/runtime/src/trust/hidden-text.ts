// Characters that a reader does not see or sees in another order. Many have honest uses (joiners in
// emoji and Persian, soft hyphens, marks in Arabic and Hebrew), so only uses that hide something count
// as a sign; stripping takes them all.

const ALL = /\p{Default_Ignorable_Code_Point}/gu;
const TAGS = /[\u{e0020}-\u{e007e}]+/gu;
const FLAG = /\u{1f3f4}[\u{e0020}-\u{e007e}]{2,6}\u{e007f}/gu;
const SIGNS = {
  bidi: /[\u202d\u202e]|[\u202a\u202b\u2066-\u2068][^\u202a-\u202c\u2066-\u2069\n]*$/m,
  'zero-width':
    /[A-Za-z0-9](?:\u200b|\u200c|\u200d|\u2060|\ufeff)+[A-Za-z0-9]|[\u200b-\u200d\u2060-\u2064\ufeff]{4}/,
  variation: /[\ufe00-\ufe0f]{3}|[\u{e0100}-\u{e01ef}]{3}/u,
} as const;

/** The kinds of hiding found; none in ordinary text of any script. */
export function hiddenKinds(text: string): string[] {
  const kinds = Object.entries(SIGNS).flatMap(([kind, sign]) => (sign.test(text) ? kind : []));
  if (text.includes('\u001b')) kinds.push('escape');
  return revealTags(text) === '' ? kinds : ['tag', ...kinds];
}

/** ASCII that was written in the invisible tag block; flags of regions are none. */
export function revealTags(text: string): string {
  const runs = text.replace(FLAG, '').match(TAGS) ?? [];
  return Array.from(runs.join(''), (tag) =>
    String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000),
  ).join('');
}

export function stripHidden(text: string): string {
  return text.replace(ALL, '');
}

/** Safe to print: short, one line, nothing hidden. */
export function show(text: string): string {
  const plain = stripHidden(text).replaceAll(/[\p{Cc}\s]+/gu, ' ');
  return plain.length > 80 ? `${plain.slice(0, 77)}…` : plain;
}
