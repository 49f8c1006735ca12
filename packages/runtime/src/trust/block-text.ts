import type { Block, ContentSegment } from '@starloom/sdk';

const texts = new WeakMap<Block, string>();

/** The words of a block. Its tool calls are left out: they are what is judged, not what led to it. */
export function textOf(block: Block): string {
  const known = texts.get(block);
  if (known !== undefined) return known;
  const text = block.segments.flatMap(wordsOf).join('\n');
  texts.set(block, text);
  return text;
}

function wordsOf(segment: ContentSegment): string[] {
  const words = [segment.text ?? ''];
  if (segment.data && /^https?:/i.test(segment.data)) words.push(segment.data);
  if (segment.ui !== undefined) words.push(JSON.stringify(segment.ui) ?? '');
  if (segment.toolResult) words.push(...segment.toolResult.output.flatMap(wordsOf));
  return words.filter((text) => text !== '');
}
