import { toMarkdownTable } from '../markdown-table.ts';
import { toOriginLine } from '../origin.ts';
import { LOOPS } from './plan.ts';
import type { RuntimeReport } from './report.ts';

/** The figures as Markdown, for people on a terminal and for the docs. */
export function toMarkdown(report: RuntimeReport): string {
  return [toOriginLine(report), turnTable(report), sessionTable(report), startTable(report)].join(
    '\n\n',
  );
}

function turnTable({ figures, ratios }: RuntimeReport): string {
  const rows = Object.entries(figures.turns).map(([cell, { starloom, generate_text }]) => [
    `\`${cell}\``,
    starloom?.p50_us,
    starloom?.p99_us,
    generate_text?.p50_us,
    generate_text?.p99_us,
    ratios[`starloom_over_generate_text.${cell}`]?.toFixed(2),
  ]);
  const times = LOOPS.flatMap((name) => [`${name} p50 µs`, `${name} p99 µs`]);
  return toMarkdownTable(['a turn', ...times, 'turns/s ÷ generate_text'], rows);
}

function sessionTable({ figures, ratios }: RuntimeReport): string {
  const { count, ...loops } = figures.sessions;
  const rows = LOOPS.map((name) => {
    const of = loops[name];
    const ratio = ratios[`${name}_over_generate_text.sessions.c${count}`];
    return [
      name,
      of?.finished,
      of?.ms,
      of?.cpu_us_per_turn,
      of?.in_flight_kb,
      of?.after_kb,
      of?.rss_mb,
      ratio?.toFixed(2),
    ];
  });
  const head = [
    `${count} sessions at once`,
    'finished',
    'all in ms',
    'CPU µs per turn',
    'KB per session in flight',
    'KB after',
    'RSS MB',
    'turns/s ÷ generate_text',
  ];
  return toMarkdownTable(head, rows);
}

function startTable({ figures, ratios }: RuntimeReport): string {
  const { first, starloom, node } = figures.start_ms;
  const head = ['start', 'ms', 'very first ms', '÷ node'];
  return toMarkdownTable(head, [
    [
      '`agent run --mcp stdio` to its first answered call',
      starloom,
      first,
      ratios['starloom_over_node.start'],
    ],
    ['`node -e 0`', node, undefined, 1],
  ]);
}
