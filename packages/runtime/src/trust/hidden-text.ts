// Characters that a reader does not see or sees in another order. Many have honest uses (joiners in
// emoji and in Persian, soft hyphens in long words, marks in Arabic and Hebrew, isolates around names in translated text), so only
// uses that hide something count as a sign; stripping takes them all.

export type HiddenKind = 'tag' | 'bidi' | 'zero-width' | 'variation' | 'escape';

const ANY = /\p{Default_Ignorable_Code_Point}/u;
const ALL = /\p{Default_Ignorable_Code_Point}/gu;
const TAGS = /[\u{e0020}-\u{e007e}]+/gu;
const FLAG = /\u{1f3f4}[\u{e0020}-\u{e007e}]{2,6}\u{e007f}/gu;
/** Inside a word of letters that need no joiner. */
const IN_WORD = /[A-Za-z0-9](?:\u200b|\u200c|\u200d|\u2060|\ufeff)+[A-Za-z0-9]/;
const INVISIBLE_RUN = /[\u200b-\u200d\u2060-\u2064\ufeff\u180e\u3164\u115f\u1160\uffa0]{4}/;
const OVERRIDE = /[\u202d\u202e]/;
const VARIATION_RUN = /[\ufe00-\ufe0f]{3}|[\u{e0100}-\u{e01ef}]{3}/u;
const ESCAPE = '\u001b';

/** The kinds of hiding found; none in ordinary text of any script. */
export function hiddenKinds(text: string): HiddenKind[] {
  const kinds: HiddenKind[] = [];
  if (text.includes(ESCAPE)) kinds.push('escape');
  if (!ANY.test(text)) return kinds;
  if (revealTags(text) !== '') kinds.push('tag');
  if (OVERRIDE.test(text) || hasOpenEmbedding(text)) kinds.push('bidi');
  if (IN_WORD.test(text) || INVISIBLE_RUN.test(text)) kinds.push('zero-width');
  if (VARIATION_RUN.test(text)) kinds.push('variation');
  return kinds;
}

/** ASCII that was written in the invisible tag block; flags of regions are none. */
export function revealTags(text: string): string {
  const runs = text.replace(FLAG, '').match(TAGS) ?? [];
  return runs
    .join(' ')
    .replace(TAGS, (run) =>
      Array.from(run, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join(''),
    );
}

export function stripHidden(text: string): string {
  return ANY.test(text) ? text.replace(ALL, '') : text;
}

/** Embeddings and isolates are closed on their line by whoever uses them honestly. */
function hasOpenEmbedding(text: string): boolean {
  if (!/[\u202a\u202b\u2066-\u2068]/.test(text)) return false;
  return text.split('\n').some((line) => {
    const opened = line.match(/[\u202a\u202b\u2066-\u2068]/g)?.length ?? 0;
    const closed = line.match(/[\u202c\u2069]/g)?.length ?? 0;
    return opened > closed;
  });
}
