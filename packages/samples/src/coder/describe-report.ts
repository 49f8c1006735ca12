import { several } from '../text/several.ts';
import type { SourceReport } from './report-source.ts';

const MAX_HINTS = 5;

/** The report in a few sentences. */
export function describeReport(report: SourceReport, path = 'The source'): string {
  return [
    describeLines(report, path),
    describeFunctions(report),
    ...describeTodos(report),
    describeHints(report),
  ].join('\n');
}

function describeLines({ language, lines }: SourceReport, path: string): string {
  const kind = language === 'unknown' ? 'no language I know' : language;
  const { total, code, comment, blank } = lines;
  const parts = `${code} code, ${comment} comment, ${blank} blank`;
  return `${path}: ${several(total, 'line')} of ${kind} (${parts}).`;
}

function describeFunctions({ functions, imports, longest }: SourceReport): string {
  const counts = `${several(functions.total, 'function')}, ${several(imports.length, 'import')}`;
  if (!longest) return `${counts}.`;
  const { name, line, lines } = longest;
  return `${counts}. The longest function is ${name}, line ${line}: ${several(lines, 'line')}.`;
}

function describeTodos({ todos }: SourceReport): string[] {
  const [first] = todos;
  return first ? [`${todos.length} left to do; the first, line ${first.line}: ${first.text}`] : [];
}

function describeHints({ hints }: SourceReport): string {
  if (hints.length === 0) return 'Nothing looks hard to follow.';
  return `Hints: ${hints.slice(0, MAX_HINTS).join('; ')}.`;
}
