// `npm run bench:console`: what the page costs beside an empty page of the same gateway, in the same
// browser and the same run: script bytes, first paint, a call until it is seen, scrolling at 50,000
// rows, and the memory of the tab.

import { openProgram } from '@starloom/testkit';
import { buildConsole } from '../../scripts/build-console.ts';
import { openBrowser } from '../../test/console/browser.ts';
import { openWorld } from '../../test/console/world.ts';
import {
  type CommandContext,
  type CommandOptions,
  type Measurement,
  runCommand,
} from '../command.ts';
import { parseFlags, parseNumber } from '../flags.ts';
import { toMarkdownTable } from '../markdown-table.ts';
import { readOrigin, toOriginLine } from '../origin.ts';
import { median, round } from '../statistics.ts';
import { writeDocs } from '../write-docs.ts';
import { measureEvents, measureMemory, measurePaint, measureScroll, Pages } from './measure.ts';

interface ConsoleBenchOptions extends CommandOptions {
  readonly writeDocs: boolean;
  readonly rows: number;
  readonly rounds: number;
}

const USAGE = `npm run bench:console -- [options]

  --rows <n>       calls in the list that is scrolled (default 50000)
  --rounds <n>     how often each page is opened (default 9)
  --write-docs     put the figures into docs/benchmarks.md
  --json           print the report as one line of JSON
  --help           print this
`;

/** Made while the tab shows all rows. */
const LOAD_CALLS = 3_000;

const FLAGS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  'write-docs': { type: 'boolean', default: false },
  rows: { type: 'string', default: '50000' },
  rounds: { type: 'string', default: '9' },
} as const;

await runCommand({ usage: USAGE, parse: parseOptions, run: bench });

function parseOptions(args: readonly string[]): ConsoleBenchOptions {
  const { rows, rounds, ...values } = parseFlags(args, FLAGS, USAGE);
  return {
    help: values.help,
    json: values.json,
    writeDocs: values['write-docs'],
    rows: parseNumber('rows', rows, { least: 1000, most: 50_000 }, USAGE),
    rounds: parseNumber('rounds', rounds, { least: 3, most: 100 }, USAGE),
  };
}

function middle(values: readonly number[]): number {
  return round(median(values) ?? 0, 1);
}

async function bench(options: ConsoleBenchOptions, { tell }: CommandContext): Promise<Measurement> {
  const origin = readOrigin('preact', 'playwright-core');
  const chromium = await openProgram('chromium');
  const sizes = await buildConsole();
  tell(`writing ${options.rows} calls into the journal`);
  await using world = await openWorld({ calls: options.rows });
  const browser = await openBrowser(chromium.path);
  try {
    const pages = await Pages.signIn(browser, world);
    tell('first paint: measuring');
    const paint = await measurePaint(pages, options.rounds);
    tell('events: measuring');
    const events = await measureEvents(pages);
    tell(`${options.rows} rows: measuring`);
    const scroll = await measureScroll(pages, options.rows);
    tell('memory: measuring');
    const memory = await measureMemory(pages, options.rows, LOAD_CALLS);
    const figures = {
      script_kib: {
        first: round(sizes.first.gzip / 1024, 1),
        all: round(sizes.all.gzip / 1024, 1),
      },
      first_paint_ms: { console: middle(paint.console), empty: middle(paint.empty) },
      first_screen_ms: middle(paint.screen),
      event_to_screen_ms: { console: middle(events.console), empty: middle(events.empty) },
      frame_ms: scroll,
      heap_mb: memory,
    };
    const ratios = {
      'console_over_empty.first_paint': round(
        figures.first_paint_ms.console / figures.first_paint_ms.empty,
        2,
      ),
      'console_over_empty.first_screen': round(
        figures.first_screen_ms / figures.first_paint_ms.empty,
        2,
      ),
      'console_over_empty.event_to_screen': round(
        figures.event_to_screen_ms.console / Math.max(0.1, figures.event_to_screen_ms.empty),
        2,
      ),
      'console_over_empty.frame_p50': round(scroll.console_p50 / scroll.empty_p50, 2),
      'loaded_over_opened.heap': round(memory.under_load / memory.opened, 2),
    };
    // A ratio that is no number was not measured.
    const all = Object.values(ratios);
    const passed = all.filter((ratio) => Number.isFinite(ratio) && ratio > 0).length;
    const versions = { ...origin.versions, chromium: chromium.version };
    const report = {
      name: 'bench:console',
      passed,
      failed: all.length - passed,
      skipped: 0,
      figures,
      ratios,
      ...origin,
      versions,
    };
    const rows = [
      ['script of the first page (gzip)', `${figures.script_kib.first} KiB`, '', ''],
      ['script in all (gzip)', `${figures.script_kib.all} KiB`, '', ''],
      [
        'first paint',
        `${figures.first_paint_ms.console} ms`,
        `${figures.first_paint_ms.empty} ms`,
        ratios['console_over_empty.first_paint'],
      ],
      [
        'first screen',
        `${figures.first_screen_ms} ms`,
        '',
        ratios['console_over_empty.first_screen'],
      ],
      [
        'answer of a call until it is seen',
        `${figures.event_to_screen_ms.console} ms`,
        `${figures.event_to_screen_ms.empty} ms`,
        ratios['console_over_empty.event_to_screen'],
      ],
      [
        `a frame while ${options.rows} rows scroll (p50, p95)`,
        `${scroll.console_p50}, ${scroll.console_p95} ms`,
        `${scroll.empty_p50}, ${scroll.empty_p95} ms`,
        ratios['console_over_empty.frame_p50'],
      ],
      [
        `heap: opened, with ${options.rows} rows, after ${LOAD_CALLS} more calls at ${memory.calls_per_second} a second`,
        `${memory.opened}, ${memory.with_rows}, ${memory.under_load} MB`,
        `${memory.empty} MB`,
        '',
      ],
    ].map((row) => row.map(String));
    const table = toMarkdownTable(['', 'console', 'empty page', 'ratio'], rows);
    const text = `${toOriginLine({ ...origin, versions })}\n\n${table}`;
    if (options.writeDocs) await writeDocs('bench:console', text);
    return { report, text };
  } finally {
    await browser.close();
  }
}
