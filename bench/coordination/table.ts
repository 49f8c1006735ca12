import { type TableCell, toMarkdownTable } from '../markdown-table.ts';
import { toOriginLine } from '../origin.ts';
import type { LastDelivery } from './fan-out-figures.ts';
import { CELLS, TARGETS } from './plan.ts';
import type { Report } from './report.ts';

/** The figures as Markdown, for people on a terminal and for the docs. */
export function toMarkdown(report: Report): string {
  return [
    toOriginLine(report),
    updateTable(report),
    gatewayTable(report),
    toMarkdownTable(
      ['asked for', 'on an idle machine', 'measured', 'met'],
      report.goals.map(({ name, asked, measured, met }) => [
        name,
        asked,
        measured,
        met ? 'yes' : 'no',
      ]),
    ),
  ].join('\n\n');
}

function updateTable({ figures, ratios }: Report): string {
  const rows = CELLS.flatMap((cell): TableCell[][] => {
    const { starloom, bare } = figures.updates[cell] ?? {};
    if (!starloom && !bare) return [];
    const ratio = ratios[`starloom_over_bare.${cell}`];
    return [
      [
        cell,
        starloom?.updates_per_second,
        bare?.updates_per_second,
        ratio?.toFixed(2),
        starloom?.cpu_us,
        bare?.cpu_us,
      ],
    ];
  });
  const head = ['', 'updates/s', 'bare/s', '÷ bare', 'CPU µs per update', 'bare CPU µs'];
  return toMarkdownTable(head, rows);
}

function gatewayTable({ figures: { fan_out, resume } }: Report): string {
  const fanOuts = TARGETS.flatMap((name): TableCell[][] => {
    const of = fan_out[name];
    if (!of) return [];
    const { undisturbed, server_cpu, cpu_us } = of;
    return [
      [`fan-out, last delivery, ${name}`, ...timesOf(of), cpu_us],
      ...(undisturbed
        ? [
            [
              `… ${undisturbed.updates} undisturbed of ${of.updates}`,
              ...timesOf(undisturbed),
              undefined,
            ],
          ]
        : []),
      ...(server_cpu
        ? [
            [
              "… CPU time of the server's main thread",
              server_cpu.p50_ms,
              server_cpu.p99_ms,
              undefined,
            ],
          ]
        : []),
    ];
  });
  const resumes = resume
    ? [[`${resume.events} missed events resumed`, resume.p50_ms, resume.most_ms]]
    : [];
  const head = ['', 'p50 ms', 'p99 or longest ms', 'CPU µs per delivery'];
  return toMarkdownTable(head, [...fanOuts, ...resumes.map((row) => [...row, undefined])]);
}

function timesOf({ last_delivery_p50_ms, last_delivery_p99_ms }: LastDelivery) {
  return [last_delivery_p50_ms, last_delivery_p99_ms];
}
