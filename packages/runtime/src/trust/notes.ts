import type { ForeignText } from './grounds.ts';
import { hiddenKinds, revealTags, stripHidden } from './hidden-text.ts';
import { instructionPhrases } from './instruction-phrases.ts';
import { show } from './show.ts';

const MOST_TEXTS = 3;
const MOST_CHARACTERS = 20_000;

/** What a person who approves may want to know of the texts that led to a call. */
export function notesOn(texts: readonly ForeignText[]): string[] {
  return [...new Set(texts)].slice(0, MOST_TEXTS).flatMap(({ source, text }) => {
    const signs = signsIn(text.slice(0, MOST_CHARACTERS));
    return signs.length > 0
      ? `note: ${show(source)} speaks to the model (${signs.join(', ')})`
      : [];
  });
}

/** Kinds of phrases and of hidden characters. */
export function signsIn(text: string): string[] {
  const hidden = hiddenKinds(text);
  const plain = hidden.length > 0 ? `${stripHidden(text)}\n${revealTags(text)}` : text;
  return [...instructionPhrases(plain), ...hidden.map((kind) => `hidden ${kind}`)];
}
