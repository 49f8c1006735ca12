import type { ComponentChildren } from 'preact';
import { isPlainLine, oneLine, plainText } from './plain-text.ts';

/** Words of an agent inside a sentence of ours: their direction stays theirs. */
export function Words({ text, limit }: { text: string; limit?: number }) {
  return <bdi>{oneLine(text, limit)}</bdi>;
}

/** A text that may be an agent's is shown as its words; everything else as it is. */
export function asWords(value: ComponentChildren, limit?: number): ComponentChildren {
  if (typeof value !== 'string' || (value.length <= 100 && isPlainLine(value))) return value;
  return limit === undefined ? <Words text={value} /> : <Words text={value} limit={limit} />;
}

export function Prose({ text }: { text: string }) {
  return (
    <pre class="prose" dir="auto">
      {plainText(text)}
    </pre>
  );
}
