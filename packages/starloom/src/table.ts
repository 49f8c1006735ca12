import { withoutPaint } from './paint.ts';
import { toOneLine } from './plain-text.ts';

const GAP = 2;
/** A column is not made narrower than this to fit the terminal. */
const NARROWEST = 8;

/**
 * Cells may be text of others: each is cleaned by itself, so that none reaches into another one.
 * Columns as wide as their widest cell; the last one is not padded. With `columns`, the widest are
 * narrowed until a row fits the terminal; the first one, which names the row, last of all.
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  const oneLine = [head, ...rows].map((row) => row.map((cell) => toOneLine(cell)));
  const natural = head.map((_, column) =>
    Math.max(...oneLine.map((row) => widthOf(row[column] ?? ''))),
  );
  const widths = columns === undefined ? natural : narrowed(natural, columns);
  return oneLine
    .map((row) =>
      row
        .map((cell, column) => padded(fit(cell, widths[column] ?? 0), widths[column] ?? 0))
        .join(' '.repeat(GAP))
        .trimEnd(),
    )
    .join('\n');
}

/** Takes from the widest column, column by column, until the sum fits or all are narrow. */
function narrowed(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  const room = columns - GAP * (widths.length - 1);
  for (let over = sum(widths) - room; over > 0; over -= 1) {
    const [first = 0, ...others] = widths;
    const width = Math.max(...others);
    if (width > NARROWEST) widths[widths.indexOf(width, 1)] = width - 1;
    else if (first > NARROWEST) widths[0] = first - 1;
    else break;
  }
  return widths;
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - widthOf(cell)));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

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
