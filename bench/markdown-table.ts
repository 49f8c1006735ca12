export type TableCell = string | number | undefined;

/** A dash stands for what is not known. */
export function toMarkdownTable(
  head: readonly string[],
  rows: readonly (readonly TableCell[])[],
): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map((cell) => cell ?? '–').join(' | ')} |`).join('\n');
}
