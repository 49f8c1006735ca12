import { readdir, readFile, writeFile } from 'node:fs/promises';
import { temporaryFolder } from '@starloom/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { readOrigin } from '../bench/origin.ts';
import { openGenerateTextLoop } from '../bench/runtime/generate-text-loop.ts';
import type { SessionsResult } from '../bench/runtime/measure-sessions.ts';
import type { TurnSlice } from '../bench/runtime/measure-turns.ts';
import { parseOptions } from '../bench/runtime/options.ts';
import { LOOPS, TURN_CELLS } from '../bench/runtime/plan.ts';
import { type RuntimeReport, toReport } from '../bench/runtime/report.ts';
import { type Measured, run } from '../bench/runtime/run.ts';
import { openStarloomLoop } from '../bench/runtime/starloom-loop.ts';
import { toMarkdown } from '../bench/runtime/table.ts';
import { DOCS, writeDocs } from '../bench/write-docs.ts';

const TINY = {
  seconds: 0.02,
  sliceMs: 20,
  warmupRounds: 0,
  sessions: 20,
  thinkMs: 5,
  rounds: 1,
  starts: 1,
};
const POSITIVE = expect.toSatisfy((value: unknown) => typeof value === 'number' && value > 0);
const ORIGIN = { versions: {}, commit: 'abc', machine: '2 shared cores', date: '2026-01-01' };

describe('a run of the bench of the runtime', () => {
  let report: RuntimeReport;

  beforeAll(async () => {
    const context = { signal: new AbortController().signal, tell: () => {} };
    report = toReport(await run(TINY, context), readOrigin('ai'));
  });

  it('gets right answers from every loop in every cell', () => {
    expect(report.failures).toEqual([]);
    const passed = (TURN_CELLS.length + 1) * LOOPS.length;
    expect(report).toMatchObject({ name: 'bench:runtime', passed, failed: 0, skipped: 0 });
  });

  it('gives the times of a turn of every loop in every cell, and their ratio', () => {
    for (const { name } of TURN_CELLS) {
      const turn = { turns_per_second: POSITIVE, p50_us: POSITIVE, p99_us: POSITIVE };
      expect(report.figures.turns[name]).toEqual({ starloom: turn, generate_text: turn });
      expect(report.ratios).toMatchObject({ [`starloom_over_generate_text.${name}`]: POSITIVE });
    }
  });

  it('gives what sessions at once and a start cost', () => {
    const { sessions, start_ms } = report.figures;
    expect(sessions).toMatchObject({
      count: TINY.sessions,
      starloom: { finished: TINY.sessions, ms: POSITIVE, cpu_us_per_turn: POSITIVE },
      generate_text: { finished: TINY.sessions, ms: POSITIVE, cpu_us_per_turn: POSITIVE },
    });
    expect(start_ms).toEqual({ first: POSITIVE, starloom: POSITIVE, node: POSITIVE });
    expect(report.ratios).toMatchObject({
      [`starloom_over_generate_text.sessions.c${TINY.sessions}`]: POSITIVE,
      'starloom_over_node.start': POSITIVE,
    });
  });

  it('fills its own place in the docs, and no other', async () => {
    await using folder = await temporaryFolder();
    const page = `${folder.path}/benchmarks.md`;
    await writeFile(page, await readFile(DOCS));
    await writeDocs('bench', 'figures of the gateway', page);
    await writeDocs('bench:runtime', 'figures of before', page);
    await writeDocs('bench:runtime', toMarkdown(report), page);
    const written = await readFile(page, 'utf8');
    expect(written).toContain('figures of the gateway');
    expect(written).not.toContain('figures of before');
    expect(written).toContain('| `tool.continued.disk` |');
  });
});

describe('the loops', () => {
  it.each([
    ['starloom', openStarloomLoop],
    ['generate_text', openGenerateTextLoop],
  ] as const)('of %s keep a session on disk from turn to turn', async (_, open) => {
    await using folder = await temporaryFolder();
    await using loop = await open({ work: 'tool', stateFolder: folder.path });
    const conversation = loop.open();
    await conversation.turn();
    const once = await wordsBelow(folder.path);
    await conversation.turn();
    expect(await wordsBelow(folder.path)).toBe(2 * once);
  });
});

describe('the report of the bench of the runtime', () => {
  it('compares loops within a round, and takes the median over the rounds', () => {
    const starloom = [slice(1), slice(2), slice(10)];
    const generate_text = [slice(2), slice(20), slice(30)];
    const { ratios } = toReport(measuredOf({ starloom, generate_text }), ORIGIN);
    expect(ratios['starloom_over_generate_text.answer.new.memory']).toBe(3);
  });

  it('fails a cell with a wrong answer, and sessions that did not all finish', () => {
    const generate_text = [{ ...slice(1), failure: 'a wrong answer' }];
    const measured = measuredOf({ starloom: [slice(1)], generate_text }, { finished: 9 });
    const report = toReport(measured, ORIGIN);
    expect(report).toMatchObject({ passed: 1, failed: 3 });
    expect(report.failures).toEqual([
      'answer.new.memory generate_text: a wrong answer',
      expect.stringMatching(/^sessions starloom: 9 of 10; /),
      expect.stringMatching(/^sessions generate_text: 9 of 10; /),
    ]);
  });
});

describe('the command', () => {
  it.each([['--fast'], ['--seconds', '-1'], ['--sessions', '0'], ['--sessions', 'many']])(
    'refuses %s %s and says what there is',
    (...args) => {
      expect(() => parseOptions(args)).toThrow(
        expect.objectContaining({
          code: 'BAD_INPUT',
          details: expect.objectContaining({ reason: 'usage' }),
        }),
      );
    },
  );
});

function slice(latencyMs: number): TurnSlice {
  return { latenciesMs: [latencyMs, latencyMs] };
}

function measuredOf(
  turns: Record<(typeof LOOPS)[number], TurnSlice[]>,
  result: Partial<SessionsResult> = {},
): Measured {
  const done: SessionsResult = {
    ms: 100,
    cpuMs: 10,
    finished: 10,
    inFlightBytes: 1024,
    afterBytes: 1024,
    residentMegabytes: 100,
    ...result,
  };
  return {
    sessions: 10,
    turns: new Map([['answer.new.memory', turns]]),
    atOnce: { starloom: [done], generate_text: [done] },
    starts: { firstMs: 2, starloomMs: [2], nodeMs: [1] },
  };
}

/** How often the user's question stands in the files of sessions below a folder. */
async function wordsBelow(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const texts = names
    .filter((name) => name.endsWith('.jsonl') && !name.includes('decisions'))
    .map((name) => readFile(`${folder}/${name}`, 'utf8'));
  return (await Promise.all(texts)).join('').split('in the harbour this morning').length - 1;
}
