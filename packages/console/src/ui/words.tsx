import { oneLine, plainText } from './plain-text.ts';

/** Words of an agent inside a sentence of ours: their direction stays theirs. */
export function Words({ text, limit }: { text: string; limit?: number }) {
  return <bdi>{oneLine(text, limit)}</bdi>;
}

export function Prose({ text }: { text: string }) {
  return (
    <pre class="prose" dir="auto">
      {plainText(text)}
    </pre>
  );
}
