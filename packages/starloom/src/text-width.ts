import { withoutPaint } from './paint.ts';

/** Two columns wide: East Asian scripts and most pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of withoutPaint(text)) width += widthOfOne(character);
  return width;
}

/** Cut to `columns`, with "…" where something is missing; its paint ends with it. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let width = 0;
  let kept = '';
  for (const character of text) {
    const isPaint = withoutPaint(character) === '';
    width += isPaint ? 0 : widthOfOne(character);
    if (isPaint || width <= columns - 1) kept += character;
  }
  return `${kept}…`;
}

function widthOfOne(character: string): number {
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
