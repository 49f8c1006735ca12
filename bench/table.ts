import { toMarkdownTable } from './markdown-table.ts';
import { toOriginLine } from './origin.ts';
import { ALL_TARGETS, LOAD_CELLS } from './plan.ts';
import type { CellFigures, PerTarget, Report } from './report.ts';

/** The figures as Markdown, for people on a terminal and for the docs. */
export function toMarkdown({ figures, ratios, versions, commit, machine, date }: Report): string {
  return [
    toOriginLine({ versions, commit, machine, date }),
    ...LOAD_CELLS.map(({ name }) => cellTable(name, figures.cells[name] ?? {}, ratios)),
    proxyTable({ figures, ratios }),
  ].join('\n\n');
}

function cellTable(
  cell: string,
  figures: PerTarget<CellFigures>,
  ratios: Report['ratios'],
): string {
  const rows = ALL_TARGETS.flatMap((target) => {
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
        of.foreign_load,
      ],
    ];
  });
  const figureNames = ['req/s', '÷ bare', 'p50 µs', 'p99 µs', 'CPU µs per request', 'busy'];
  return toMarkdownTable([`\`${cell}\``, ...figureNames, 'foreign load'], rows);
}

function proxyTable({ figures, ratios }: Pick<Report, 'figures' | 'ratios'>): string {
  const { first_event_ms, startup_ms, rss_mb } = figures;
  const rows = ALL_TARGETS.flatMap((target) => {
    const firstEvent = first_event_ms[target];
    const startup = startup_ms[target];
    const rss = rss_mb[target];
    if (firstEvent === undefined && startup === undefined) return [];
    const megabytes = rss && [rss.idle, rss.after, ...(rss.soaked ? [rss.soaked] : [])].join(' / ');
    return [[target, firstEvent, startup, ratios[`${target}_over_direct.startup`], megabytes]];
  });
  const start = ['start to first `tools/list` ms', '÷ start of direct'];
  return toMarkdownTable(['', 'first event ms', ...start, 'RSS MB idle / after / soaked'], rows);
}
