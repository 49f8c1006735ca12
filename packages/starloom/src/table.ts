import { toOneLine } from './plain-text.ts';
import { fit, widthOf } from './text-width.ts';

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
