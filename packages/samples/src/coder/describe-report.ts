import type { SourceReport } from './report-source.ts';

/** The report in a few sentences. */
export function describeReport(report: SourceReport, path = 'The source'): string {
  const { language, lines, imports, functions, longest, todos, hints } = report;
  const kind = language === 'unknown' ? 'of no language I know' : language;
  const sentences = [
    `${path}: ${lines.total} lines of ${kind} (${lines.code} code, ${lines.comment} comment, ${lines.blank} blank).`,
    `${functions.total} functions, ${imports.length} imports.`,
  ];
  if (longest) {
    const { name, line, lines: length, branches } = longest;
    sentences.push(
      `The longest function is ${name}, line ${line}: ${length} lines, ${branches} branches.`,
    );
  }
  const [todo] = todos;
  if (todo)
    sentences.push(`${todos.length} left to do; the first, line ${todo.line}: ${todo.text}`);
  sentences.push(
    hints.length === 0
      ? 'Nothing looks hard to follow.'
      : `Hints: ${hints.slice(0, 5).join('; ')}.`,
  );
  return sentences.join('\n');
}
