// What a run says, in the shape that every measuring command of ours prints.

import type { MeasuringReport } from '../command.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { type Origin, toOriginLine } from '../origin.ts';
import { round } from '../statistics.ts';
import type { RivalFigures } from './mcp-registry.ts';
import type { ChangeFigures, StepFigures } from './step.ts';

export interface Report extends MeasuringReport, Origin {
  readonly name: 'bench:registry';
  readonly figures: {
    readonly steps: readonly StepFigures[];
    readonly changes: ChangeFigures;
    readonly mcp_registry?: RivalFigures;
  };
}

export function ratiosOf(
  steps: readonly StepFigures[],
  changes: ChangeFigures,
  rival: RivalFigures | undefined,
): Record<string, number> {
  const [first] = steps;
  const last = steps.at(-1);
  if (!first || !last) return {};
  return {
    'starloom_over_raw.registrations': round(
      last.registrations_per_second / last.raw_inserts_per_second,
      2,
    ),
    'starloom_over_raw.cold_load': round(last.cold_load_ms / last.raw_select_all_ms, 2),
    'raw_over_starloom.lookup': round(last.raw_lookup_us / last.lookup_us, 1),
    'raw_over_starloom.page': round(last.raw_page_us / last.page_us, 1),
    'change_over_notify.p50': round(changes.visible_p50_ms / changes.notify_p50_ms, 2),
    'change_over_notify.p99': round(changes.visible_p99_ms / changes.notify_p99_ms, 2),
    memory_over_manifest: last.memory_per_manifest,
    'largest_over_smallest.registrations': round(
      last.registrations_per_second / first.registrations_per_second,
      2,
    ),
    ...(rival && {
      'mcp_registry_over_starloom.page': round(rival.page_us / last.page_us, 1),
    }),
  };
}

const ROWS: readonly [string, keyof StepFigures][] = [
  ['registrations/s', 'registrations_per_second'],
  ['plain INSERTs of the same documents/s', 'raw_inserts_per_second'],
  ['cold load, ms', 'cold_load_ms'],
  ['plain SELECT and JSON.parse of all rows, ms', 'raw_select_all_ms'],
  ['look-up by capability, µs', 'lookup_us'],
  ['plain SELECT by capability, µs', 'raw_lookup_us'],
  ['filtered page of 50, µs', 'page_us'],
  ['plain SELECT of that page, µs', 'raw_page_us'],
  ['memory per agent ÷ bytes of its manifest', 'memory_per_manifest'],
];

export function toMarkdown(report: Report): string {
  const { steps, changes, mcp_registry: rival } = report.figures;
  const rows = ROWS.map(([name, key]) => [name, ...steps.map((step) => step[key])]);
  const tables = [
    toMarkdownTable(['agents', ...steps.map(({ agents }) => String(agents))], rows),
    plot(steps),
    toMarkdownTable(
      ['a change at one gateway', 'p50 ms', 'p99 ms'],
      [
        ['served by another gateway', changes.visible_p50_ms, changes.visible_p99_ms],
        ['NOTIFY alone', changes.notify_p50_ms, changes.notify_p99_ms],
      ],
    ),
    ...(rival
      ? [
          toMarkdownTable(
            ['MCP Registry server', ''],
            [
              ['version', rival.version],
              ['servers', rival.servers],
              ['published/s', rival.published_per_second],
              ['page of 30 by search, µs', rival.page_us],
            ],
          ),
        ]
      : []),
    toMarkdownTable(['ratio', ''], Object.entries(report.ratios)),
  ];
  return [toOriginLine(report), ...tables].join('\n\n');
}

/** Growth, each figure against its own at the smallest size; one mark is a tenth of a doubling. */
function plot(steps: readonly StepFigures[]): string {
  const [first] = steps;
  if (!first) return '';
  const keys = ['registrations_per_second', 'lookup_us', 'page_us', 'cold_load_ms'] as const;
  const lines = keys.flatMap((key) => [
    key,
    ...steps.map((step) => {
      const times = step[key] / Math.max(first[key], 0.001);
      const marks = Math.max(0, Math.round(Math.log2(Math.max(times, 0.01)) * 5) + 20);
      return `  ${String(step.agents).padStart(7)} ${'█'.repeat(marks)} ×${round(times, 2)}`;
    }),
  ]);
  return `\`\`\`\n${lines.join('\n')}\n\`\`\``;
}
