import { toOneLine, toPlainText } from './plain-text.ts';

const MAX_LINES = 12;
const LABELS: Readonly<Record<string, string>> = {
  exit_code: 'exit code',
  stderr: 'its stderr',
  stdout: 'its stdout',
  status: 'status',
  body: 'it answered',
  message: 'it said',
  content: 'it answered',
};

/** What an agent's side said about a failure, one fact a line: `details.upstream` for people. */
export function upstreamLines(upstream: unknown): string[] {
  if (upstream === undefined || upstream === null || upstream === '') return [];
  if (typeof upstream !== 'object') return labelled('it said', String(upstream));
  if (Array.isArray(upstream)) return labelled('it said', toText(upstream));
  return Object.entries(upstream).flatMap(([name, value]) => {
    const text = toText(value);
    return text === '' ? [] : labelled(LABELS[name] ?? toOneLine(name.replaceAll('_', ' ')), text);
  });
}

/** A short text behind its label, a longer one below it. */
function labelled(label: string, text: string): string[] {
  const lines = toPlainText(text).replaceAll('\t', '  ').trimEnd().split('\n');
  if (lines.length === 1) return [`${label}: ${lines[0]}`];
  const left = lines.length > MAX_LINES ? [`  … ${lines.length - MAX_LINES} lines before`] : [];
  return [`${label}:`, ...left, ...lines.slice(-MAX_LINES).map((line) => `  ${line}`)];
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return value.join('\n');
  }
  if (Array.isArray(value) && value.every(isText)) return value.map(({ text }) => text).join('\n');
  return JSON.stringify(value);
}

function isText(value: unknown): value is { readonly text: string } {
  return typeof value === 'object' && value !== null && 'text' in value;
}
