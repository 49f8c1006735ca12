// What in a text hints at somebody trying to steer a model. These are signs, never a gate of their own:
// what keeps an agent safe is that foreign words cannot reach a risky tool unasked (rules.ts).

import { encodedRuns } from './encoded-runs.ts';
import { type HiddenKind, hiddenKinds, revealTags, stripHidden } from './hidden-text.ts';
import { instructionPhrases } from './instruction-phrases.ts';

export interface TextSigns {
  /** Names of the kinds of phrases that speak to a model. */
  readonly phrases: readonly string[];
  readonly hidden: readonly HiddenKind[];
  /** Text that was encoded and is readable when decoded. */
  readonly encoded: boolean;
}

export function signsOf(text: string): TextSigns {
  const hidden = hiddenKinds(text);
  const decoded = encodedRuns(text).flatMap((run) => run.decoded ?? []);
  const concealed = hidden.includes('tag') ? [revealTags(text), ...decoded] : decoded;
  const phrases = new Set(instructionPhrases(hidden.length > 0 ? stripHidden(text) : text));
  for (const part of concealed) {
    for (const phrase of instructionPhrases(part)) phrases.add(`concealed ${phrase}`);
  }
  return { phrases: [...phrases], hidden, encoded: decoded.length > 0 };
}
