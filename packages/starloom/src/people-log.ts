// The log of `starloom up` for a person at a terminal: one short line for each JSON line.

import { upstreamLines } from './report-error.ts';
import type { Terminal } from './terminal.ts';
import { paint, type Style, toOneLine } from './terminal-text.ts';

type Line = Readonly<Record<string, unknown>>;

export function peopleLog({ tell }: Pick<Terminal, 'tell'>) {
  return {
    write(text: string): void {
      const lines = text.split('\n').filter((line) => line !== '');
      for (const line of lines.flatMap((one) => toPeopleLine(one) ?? [])) tell(line);
    },
  };
}

const LEVELS: Readonly<Record<string, Style>> = { warn: 'yellow', error: 'red', fatal: 'red' };

/** `undefined` for a request that was served and called no agent: clients list and beat all the time. */
export function toPeopleLine(json: string): string | undefined {
  const line = parse(json);
  if (line === undefined) return json;
  const level = String(line.level);
  const style = LEVELS[level];
  const time = paint('dim', toTime(line.time));
  const isRequest = line.message === 'request';
  if (isRequest && line.ok === true) return undefined;
  const words = isRequest || line.message === 'call' ? callWords(line) : otherWords(line);
  return [time, ...(style ? [paint(style, level)] : []), words].join('  ');
}

/** `percy.reason  ok  12 ms`, or what failed and why. */
function callWords(line: Line): string {
  const { agent_id, capability, tool, name, method, ok, code, ms, fallback } = line;
  const isOwn = agent_id === null || agent_id === undefined;
  const own = String(tool ?? name ?? method);
  const target = toOneLine(isOwn ? own : `${agent_id}.${capability}`, MAX_FIELD);
  const outcome = ok === true ? paint('green', 'ok') : paint('red', String(code ?? 'failed'));
  const notes = [
    ...(fallback === true ? ['after a fallback'] : []),
    ...(typeof ms === 'number' ? [`${Math.round(ms)} ms`] : []),
    ...(ok === true ? [] : [messageOf(line.error)]),
  ];
  const words = [target, outcome, ...notes.filter((note) => note !== '')].join('  ');
  return isOwn && ok === true ? paint('dim', words) : words;
}

const HIDDEN = new Set([
  ...['level', 'time', 'message', 'trace_id', 'span_id', 'registry'],
  ...['error', 'reason', 'upstream', 'fix'],
]);
const MAX_FIELD = 160;
const MAX_MESSAGE = 400;

function otherWords(line: Line): string {
  const fields = Object.entries(line)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => paint('dim', `${toOneLine(name, MAX_FIELD)}=${showField(value)}`));
  const cause = messageOf(line.error ?? { message: line.reason, details: line });
  const fix = typeof line.fix === 'string' ? [`fix: ${toOneLine(line.fix, MAX_FIELD)}`] : [];
  const words = [toOneLine(String(line.message), MAX_MESSAGE), ...fields];
  return [...words, ...(cause === '' ? [] : [cause]), ...fix].join('  ');
}

function showField(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return toOneLine(text, MAX_FIELD);
}

function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { message, details } = error as { message?: unknown; details?: { upstream?: unknown } };
  if (typeof message !== 'string') return '';
  const said = upstreamLines(details?.upstream).map((line) => line.trim());
  return toOneLine([message, ...said].join(', '), MAX_MESSAGE);
}

function toTime(time: unknown): string {
  const at = new Date(String(time));
  return Number.isNaN(at.getTime()) ? '--:--:--' : at.toTimeString().slice(0, 8);
}

function parse(json: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
