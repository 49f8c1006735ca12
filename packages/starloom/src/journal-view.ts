// Calls of the journal as lines of a terminal. Texts of others are made plain cell by cell; widths are those of
// the terminal, and a pipe gets whole texts.

import type { JournalAttempt, JournalCall, JournalRates, UsageRow } from '@starloom/core';
import { fit, GAP, paint, row, type Style, table, toOneLine, widthOf } from './terminal-text.ts';
import type { AgentRow } from './tool-payloads.ts';

const SHORT_ID = 8;
/** From here on there is room for whole trace ids. */
const WIDE = 140;

/** `agent.capability`, or the tool of the gateway. */
export function nameOf({ agent_id, capability, tool }: JournalCall): string {
  if (capability === null) return tool;
  return agent_id === null ? capability : `${agent_id}.${capability}`;
}

export function outcomeOf({ ended_at, code }: JournalCall): string {
  return ended_at === null ? 'running' : (code ?? 'ok');
}

const STYLES: Readonly<Record<string, Style>> = { ok: 'green', running: 'cyan' };

function paintOutcome(outcome: string): string {
  return paint(STYLES[outcome] ?? 'red', toOneLine(outcome));
}

/** `850 µs`, `12 ms`, `1.24 s`, `3.5 min`. */
export function duration(ms: number | null): string {
  if (ms === null) return '';
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${(ms / 60_000).toFixed(1)} min`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function bytes(count: number): string {
  let unit = 0;
  let left = count;
  for (; left >= 1_000 && unit < UNITS.length - 1; unit += 1) left /= 1_000;
  return `${unit === 0 ? left : left.toFixed(1)} ${UNITS[unit]}`;
}

/** Of the day where there is no room for more. */
function timeOf(at: number, columns?: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '?';
  const text = date.toISOString();
  return columns !== undefined && columns < WIDE ? text.slice(11, 19) : text;
}

interface Column {
  readonly name: string;
  /** At 80 columns; what is left goes to the one without. */
  readonly width?: number;
  readonly cell: (call: JournalCall, columns: number | undefined) => string;
}

const COLUMNS: readonly Column[] = [
  { name: 'TIME', width: 8, cell: ({ began_at }, columns) => timeOf(began_at, columns) },
  { name: 'OUTCOME', width: 14, cell: (call) => paintOutcome(outcomeOf(call)) },
  { name: 'TOOK', width: 7, cell: ({ ms }) => duration(ms) },
  { name: 'CALLER', width: 8, cell: ({ principal }) => principal ?? '-' },
  { name: 'FACE', width: 4, cell: ({ face }) => face },
  { name: 'CALL', cell: (call) => nameOf(call) + (call.fallback ? ' (fallback)' : '') },
  {
    name: 'TRACE',
    width: SHORT_ID,
    cell: ({ trace_id }, columns) =>
      columns !== undefined && columns < WIDE ? trace_id.slice(0, SHORT_ID) : trace_id,
  },
];

const FULL_TIME = 24;
const FULL_ID = 36;
const TOOK = 8;

/** Lines of the same layout, whenever they are made: for a list that goes on. */
export class CallLines {
  readonly #columns: number | undefined;
  readonly #widths: readonly number[];

  constructor(columns: number | undefined) {
    this.#columns = columns;
    const isWide = columns === undefined || columns >= WIDE;
    const fixed = COLUMNS.map(({ name, width }) => {
      if (isWide && name === 'TIME') return FULL_TIME;
      if (isWide && name === 'TRACE') return FULL_ID;
      return isWide && width !== undefined ? width * 2 : width;
    });
    const taken = fixed.reduce<number>((sum, width) => sum + (width ?? 0) + GAP, -GAP);
    const left = Math.max(12, (columns ?? 200) - taken);
    this.#widths = fixed.map((width) => width ?? left);
  }

  get head(): string {
    const names = COLUMNS.map(({ name }) => name);
    return row(names, this.#widths);
  }

  line(call: JournalCall): string {
    const cells = COLUMNS.map(({ cell }) => toOneLine(cell(call, this.#columns)));
    if (this.#columns !== undefined) return row(cells, this.#widths);
    // A pipe gets whole texts, whatever their width.
    const widths = cells.map((cell, column) => Math.max(widthOf(cell), this.#widths[column] ?? 0));
    return row(cells, widths);
  }
}

interface Span {
  readonly label: string;
  readonly from: number;
  readonly ms: number | null;
  readonly note: string;
  readonly style?: Style;
}

/** A trace as bars over time: each hop with its steps and attempts, and below an attempt what it called. */
export function waterfall(calls: readonly JournalCall[], columns = 160): string {
  const spans = toSpans(calls);
  const total = Math.max(1, ...spans.map(({ from, ms }) => from + (ms ?? 0)));
  const widest = Math.max(...spans.map(({ label }) => widthOf(label)));
  const labels = Math.min(widest, Math.floor(columns * 0.4));
  const noteWidth = Math.floor(columns * 0.25);
  const bars = Math.max(10, columns - labels - noteWidth - TOOK - 3 * GAP);
  const rows = spans.map(({ label, from, ms, note, style }) => {
    const start = Math.min(bars - 1, Math.floor((from / total) * bars));
    const share = Math.round(((ms ?? total - from) / total) * bars);
    const length = Math.max(1, Math.min(bars - start, share));
    const bar = `${' '.repeat(start)}${'━'.repeat(length)}`.padEnd(bars);
    const took = (ms === null ? 'running' : duration(ms)).padStart(TOOK);
    const cells = [label, style ? paint(style, bar) : bar, took, toOneLine(note)];
    return row(cells, [labels, bars, TOOK, noteWidth]);
  });
  return [heading(calls, total), '', ...rows].join('\n');
}

function heading(calls: readonly JournalCall[], total: number): string {
  const [first] = calls;
  if (!first) return '';
  const hops = calls.length === 1 ? '1 hop' : `${calls.length} hops`;
  const facts = [hops, duration(total), `by ${first.principal ?? '-'}`, timeOf(first.began_at)];
  const failed = calls.find(({ code }) => code !== null);
  const why = failed && [failed.code, failed.reason, failed.message].filter(Boolean).join(': ');
  return [
    paint('bold', `trace ${first.trace_id}`),
    toOneLine(facts.join(', ')),
    ...(why ? [paint('red', toOneLine(why))] : []),
  ].join('\n');
}

function toSpans(calls: readonly JournalCall[]): readonly Span[] {
  const begin = Math.min(...calls.map(({ began_at }) => began_at));
  const below = Map.groupBy(calls, (call) => parentIn(calls, call));
  const spansOf = (call: JournalCall, indent: number): Span[] => {
    const from = call.began_at - begin;
    const at = '  '.repeat(indent);
    const { admitted_ms, routed_ms, rule, route = [], skipped = [] } = call;
    const agents = route.map(({ agent_id }) => agent_id).join(', ');
    const passed = skipped.map(({ agent_id, reason }) => `without ${agent_id}: ${reason}`);
    const outcome = outcomeOf(call);
    const own: Span[] = [
      {
        label: `${at}${toOneLine(nameOf(call))}`,
        from,
        ms: call.ms,
        note: `${call.face}${call.gateway === undefined ? '' : ` at ${call.gateway}`} ${outcome}`,
        style: STYLES[outcome] ?? 'red',
      },
    ];
    const step = (name: string, begins: number, ends: number, note: string) => {
      const times = { from: from + begins, ms: ends - begins };
      own.push({ label: `${at}  ${name}`, ...times, note, style: 'dim' });
    };
    if (admitted_ms !== undefined) step('admit', 0, admitted_ms, `depth ${call.depth}`);
    const decided = routed_ms ?? admitted_ms ?? 0;
    if (rule !== undefined) step('policy', decided, decided, `rule ${rule}`);
    if (admitted_ms !== undefined && routed_ms !== undefined) {
      step('route', admitted_ms, routed_ms, [agents, ...passed].join('; '));
    }
    const shown = new Set<JournalCall>();
    for (const attempt of call.attempts) {
      own.push(attemptSpan(attempt, from, at));
      for (const child of below.get(call) ?? []) {
        if (!isBelow(child, attempt)) continue;
        shown.add(child);
        own.push(...spansOf(child, indent + 2));
      }
    }
    const others = (below.get(call) ?? []).filter((child) => !shown.has(child));
    return [...own, ...others.flatMap((child) => spansOf(child, indent + 1))];
  };
  return (below.get(undefined) ?? []).flatMap((call) => spansOf(call, 0));
}

function attemptSpan(attempt: JournalAttempt, from: number, at: string): Span {
  const { agent_id, node_id, code, reason, sent, fallback, began_ms, ms } = attempt;
  const kind = fallback ? 'fallback' : 'attempt';
  const outcome = ms === null ? 'running' : (code ?? 'ok');
  const why = [outcome, reason, sent === false ? 'not sent' : ''].filter(Boolean).join(', ');
  return {
    label: `${at}  ${kind} ${toOneLine(`${agent_id}@${node_id}`)}`,
    from: from + began_ms,
    ms,
    note: `${attempt.protocol} ${why}`,
    style: STYLES[outcome] ?? 'red',
  };
}

/** The hop whose attempt, or which itself, is the parent. A span id from outside has 16 digits only. */
function parentIn(calls: readonly JournalCall[], call: JournalCall): JournalCall | undefined {
  if (call.parent_span_id === null) return undefined;
  return calls.find(
    (one) =>
      one !== call &&
      (isSame(one.span_id, call.parent_span_id) ||
        one.attempts.some((attempt) => isBelow(call, attempt))),
  );
}

function isBelow({ parent_span_id }: JournalCall, { span_id }: JournalAttempt): boolean {
  return span_id !== undefined && isSame(span_id, parent_span_id);
}

const W3C_LENGTH = 18;

function isSame(one: string, other: string | null): boolean {
  return other !== null && one.slice(0, W3C_LENGTH) === other.slice(0, W3C_LENGTH);
}

export function usageTable(by: string, rows: readonly UsageRow[], columns?: number): string {
  const head = [by.toUpperCase(), 'CALLS', 'FAILED', 'MEAN', 'COST', 'IN', 'OUT'];
  const cells = rows.map(({ key, calls, failed, ms, cost, bytes_in, bytes_out }) => [
    usageName(by, key),
    String(calls),
    failed === 0 ? '0' : paint('red', `${failed} (${percent(failed, calls)})`),
    duration(ms / calls),
    String(Math.round(cost * 1_000) / 1_000),
    bytes(bytes_in),
    bytes(bytes_out),
  ]);
  return table(head, cells, columns);
}

/** A tool as the other commands name it: the journal keeps `agent/capability`. */
function usageName(by: string, key: string): string {
  return by === 'tool' ? key.replace('/', '.') : key;
}

const USAGE_SUMS = ['calls', 'failed', 'ms', 'cost', 'bytes_in', 'bytes_out'] as const;

/** As RFC 4180 says. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function usageCsv(by: string, rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => {
    return [csvCell(usageName(by, row.key)), ...USAGE_SUMS.map((sum) => row[sum])].join(',');
  });
  return [[by, ...USAGE_SUMS].join(','), ...lines].join('\r\n');
}

function csvCell(value: string): string {
  const text = toOneLine(value).replace(/^(?=[=+\-@].)/, "'");
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 1_000) / 10} %`;
}

export interface TopFacts {
  readonly windows: readonly JournalRates[];
  readonly running: readonly JournalCall[];
  readonly agents: readonly Pick<AgentRow, 'agent_id' | 'status' | 'breaker'>[];
  readonly jobs: Readonly<Record<string, number>>;
}

const MAX_ROWS = 20;

export function topPage(
  { windows, running, agents, jobs }: TopFacts,
  now: number,
  columns?: number,
): string {
  const rates = windows.map(({ window_ms, calls, failed, per_second, p50, p95, p99 }) => [
    `last ${duration(window_ms).replace(/\.0+/, '')}`,
    String(calls),
    `${per_second}/s`,
    calls === 0 ? '' : failed === 0 ? '0' : paint('red', `${failed} (${percent(failed, calls)})`),
    duration(p50),
    duration(p95),
    duration(p99),
  ]);
  const head = ['CALLS', 'COUNT', 'RATE', 'FAILED', 'P50', 'P95', 'P99'];
  const recent = windows.at(-1)?.agents ?? [];
  const known = new Map(recent.map((rate) => [rate.agent_id, rate]));
  const names = [...new Set([...known.keys(), ...agents.map(({ agent_id }) => agent_id)])];
  const rows = names.slice(0, MAX_ROWS).map((agent_id) => {
    const { status = '', breaker = '' } = agents.find((one) => one.agent_id === agent_id) ?? {};
    const rate = known.get(agent_id);
    const health = [status, breaker === 'closed' ? '' : breaker].filter(Boolean).join(', ');
    return [
      agent_id,
      String(rate?.calls ?? 0),
      `${rate?.per_second ?? 0}/s`,
      String(rate?.failed ?? 0),
      duration(rate?.p50 ?? null),
      duration(rate?.p95 ?? null),
      health,
    ];
  });
  const states = Object.entries(jobs).map(([state, count]) => `${count} ${state}`);
  const codes = (windows.at(-1)?.codes ?? []).map(({ code, calls }) => `${code} ${calls}`);
  const errors = `errors: ${codes.join(', ')}`;
  const slow = running.slice(0, MAX_ROWS).map((call) => {
    const age = duration(Math.max(0, now - call.began_at)).padStart(8);
    const text = `  ${age}  ${toOneLine(nameOf(call))}  ${toOneLine(call.principal ?? '-')}`;
    return fit(text, columns ?? 200);
  });
  return [
    paint('bold', `starloom top  ${timeOf(now)}`),
    '',
    table(head, rates, columns),
    ...(codes.length > 0 ? ['', fit(toOneLine(errors), columns ?? 200)] : []),
    '',
    table(['AGENT', 'CALLS', 'RATE', 'FAILED', 'P50', 'P95', ''], rows, columns),
    '',
    `jobs: ${states.join(', ') || 'none'}`,
    `running: ${running.length}`,
    ...slow,
  ].join('\n');
}
