// What a person who approves a call may want to know of the texts that led to it: phrases that speak to
// a model instead of to a reader, and hidden characters. Notes decide nothing.

import type { ForeignText } from './grounds.ts';
import { hiddenKinds, revealTags, show, stripHidden } from './hidden-text.ts';

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
