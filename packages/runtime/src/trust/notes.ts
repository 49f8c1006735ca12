// What a person who approves a call may want to know of the texts that led to it: phrases that speak to
// a model instead of to a reader, and hidden characters. Notes decide nothing.

import type { ForeignText } from './grounds.ts';
import { hiddenKinds, revealTags, stripHidden } from './hidden-text.ts';
import { show } from './show.ts';

const MOST_TEXTS = 3;
const MOST_CHARACTERS = 8000;

/** Words of each group within a few words of each other; the text is in lower case and plain letters. */
const PHRASES = {
  override: near(
    'ignor\\w*|disregard|forget|overrid\\w*|bypass|vergiss|oublie[zr]?|olvida|esqueca|dimentica',
    '(?:previous|prior|above|earlier|all|any|your|bisherigen|alle|precedentes|anteriores|todas|consignes|rules)',
    'instructions?|rules|guidelines|orders|prompts?|policy|anweisungen|regeln|consignes|precedentes|instrucciones|istruzioni',
  ),
  conceal: near(
    'not|never|without|dont',
    'tell|mention|inform|notify|reveal|show',
    'users?|human|operator|anyone',
  ),
  'send-secrets': near(
    'send|post|upload|forward|append|include|paste',
    'keys?|tokens?|secrets?|passwords?|credentials',
    'to|at|into|with|in',
  ),
  'addresses-model': near(
    'ai|assistants?|agents?|llm|chatbot|model',
    'must|should|please|important|immediately',
    'you|run|call|send|read|execute|follow',
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
    return signs.length > 0
      ? `note: ${show(source)} speaks to the model (${signs.join(', ')})`
      : [];
  });
}

/** Kinds of phrases and of hidden characters. */
export function signsIn(given: string): string[] {
  const text = given.slice(0, MOST_CHARACTERS);
  const hidden = hiddenKinds(text);
  const seen = (hidden.length > 0 ? `${stripHidden(text)}\n${revealTags(text)}` : text).normalize(
    'NFKD',
  );
  const lower = seen.toLowerCase();
  const plain = lower
    .replaceAll(/[\p{M}'’]/gu, '')
    .replaceAll(/[^\n -~]/gu, (one) => LOOK_ALIKES.get(one) ?? one);
  const found = Object.entries(PHRASES).flatMap(([kind, phrase]) =>
    phrase.test(plain) ? kind : [],
  );
  if (!found.includes('override') && UNSPACED.test(lower.normalize('NFC'))) found.push('override');
  return [...found, ...hidden.map((kind) => `hidden ${kind}`)];
}

function near(...groups: readonly string[]): RegExp {
  return new RegExp(groups.map((group) => `\\b(?:${group})\\b`).join('(?:\\W+\\w+){0,4}?\\W+'));
}
