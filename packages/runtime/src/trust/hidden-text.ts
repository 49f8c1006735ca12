// Characters that a reader does not see or sees in another order. Many have honest uses (joiners in
// emoji and Persian, soft hyphens, marks in Arabic and Hebrew), so only uses that hide something count
// as a sign; stripping takes them all. Notes tell a person who approves a call of such signs in the texts that
// led to it, and of phrases that speak to a model instead of to a reader; they decide nothing.

import type { ForeignText } from './texts.ts';

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

const MOST_TEXTS = 3;
const MOST_CHARACTERS = 8000;

/** A word of each group, close together; the text is in lower case and plain letters. */
const PHRASES = {
  override: near(
    'ignor\\w*|disregard|forget|overrid\\w*|bypass|vergiss|oublie[zr]?|olvida|esqueca|dimentica / ' +
      'previous|prior|above|earlier|all|any|your|bisherigen|alle|anteriores|todas|consignes|rules / ' +
      'instructions?|rules|orders|prompts?|policy|anweisungen|regeln|consignes|precedentes|instrucciones|istruzioni',
  ),
  conceal: near(
    'not|never|without|dont / tell|mention|inform|notify|reveal / users?|human|operator|anyone',
  ),
  'send-secrets': near(
    'send|post|upload|append|paste / keys?|tokens?|secrets?|passwords? / to|at|into|with|in',
  ),
  'addresses-model': near(
    'ai|assistants?|agents?|llm|model / must|should|please / you|run|call|send|read|follow',
  ),
  'speaks-as-system':
    /<\|?(?:im_start|system|endoftext)\|?>|\[\/?(?:inst|system)\]|<<sys>>|^[\s#*>-]{0,12}(?:system|developer|admin)(?: \w+)?\s?:/m,
} as const;
const UNSPACED =
  /忽略(?:之前|以上|所有)|无视之前|不要告诉用户|以前の指示|指示を無視|이전 지시|지시를 무시|игнорируй|не сообщай/;
/** Cyrillic and Greek letters that look Latin, each before the one it poses for. */
const LOOK_ALIKES = new Map(
  'аaеeоoрpсcуyхxіiѕsјjοoαaνvιiρpτt'.match(/../gu)?.map((pair) => [pair[0], pair[1]]),
);

export function notesOn(texts: readonly ForeignText[]): string[] {
  return [...new Set(texts)].slice(0, MOST_TEXTS).flatMap(({ source, text }) => {
    const signs = signsIn(text);
    if (signs.length === 0) return [];
    return `note: ${show(source)} speaks to the model (${signs.join(', ')})`;
  });
}

/** Kinds of phrases and of hidden characters. */
export function signsIn(given: string): string[] {
  const text = given.slice(0, MOST_CHARACTERS);
  const hidden = hiddenKinds(text);
  const seen = hidden.length > 0 ? `${stripHidden(text)}\n${revealTags(text)}` : text;
  const lower = seen.normalize('NFKD').toLowerCase();
  const plain = lower
    .replaceAll(/[\p{M}'’]/gu, '')
    .replaceAll(/[^\n -~]/gu, (one) => LOOK_ALIKES.get(one) ?? one);
  const found = Object.entries(PHRASES).flatMap(([kind, phrase]) =>
    phrase.test(plain) ? kind : [],
  );
  if (!found.includes('override') && UNSPACED.test(lower.normalize('NFC'))) found.push('override');
  return [...found, ...hidden.map((kind) => `hidden ${kind}`)];
}

function near(groups: string): RegExp {
  const parts = groups.split(' / ').map((group) => `\\b(?:${group})\\b`);
  return new RegExp(parts.join('(?:\\W+\\w+){0,4}?\\W+'));
}
