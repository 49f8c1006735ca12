import { toMarkdownTable } from './markdown-table.ts';
import { toOriginLine } from './origin.ts';
import { LOAD_CELLS, TARGETS } from './plan.ts';
import type { CellFigures, PerTarget, Report } from './report.ts';

/** The figures as Markdown, for people on a terminal and for the docs. */
export function toMarkdown({ figures, ratios, versions, commit, machine, date }: Report): string {
  return [
    toOriginLine({ versions, commit, machine, date }),
    ...LOAD_CELLS.map(({ name }) => cellTable(name, figures.cells[name] ?? {}, ratios)),
    proxyTable(figures),
  ].join('\n\n');
}

function cellTable(
  cell: string,
  figures: PerTarget<CellFigures>,
  ratios: Report['ratios'],
): string {
  const rows = TARGETS.flatMap((target) => {
    const of = figures[target];
    if (!of) return [];
    const ratio = target === 'bare' ? 1 : ratios[`${target}_over_bare.${cell}`];
    return [
      [
        target,
        of.requests_per_second.toFixed(0),
        ratio?.toFixed(2),
        of.p50_us,
        of.p99_us,
        of.cpu_us,
        of.busy,
      ],
    ];
  });
  const head = [`\`${cell}\``, 'req/s', '÷ bare', 'p50 µs', 'p99 µs', 'CPU µs per request', 'busy'];
  return toMarkdownTable(head, rows);
}

function proxyTable({ first_event_ms, startup_ms, rss_mb }: Report['figures']): string {
  const rows = TARGETS.map((target) => {
    const rss = rss_mb[target];
    const megabytes = rss && `${rss.idle} / ${rss.after}`;
    return [target, first_event_ms[target], startup_ms[target], megabytes];
  });
  const head = ['', 'first event ms', 'start to first `tools/list` ms', 'RSS MB idle / after'];
  return toMarkdownTable(head, rows);
}
