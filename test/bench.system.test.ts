import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { runSlice } from '../bench/load/run-slice.ts';
import type { SliceResult } from '../bench/load/slice.ts';
import { Tally } from '../bench/load/tally.ts';
import { upstreamCall } from '../bench/mcp-call.ts';
import { parseOptions } from '../bench/options.ts';
import { readOrigin } from '../bench/origin.ts';
import { LOAD_CELLS, PEERS, TARGETS, type TargetName } from '../bench/plan.ts';
import { type Report, toReport } from '../bench/report.ts';
import { type Measured, type MeasuredSlice, run, undisturbed } from '../bench/run.ts';
import { toMarkdown } from '../bench/table.ts';
import { DOCS, writeDocs } from '../bench/write-docs.ts';

const TINY = { seconds: 0.1, warmup: 0, sliceMs: 100, rampMs: 20, startups: 0, cores: undefined };
const QUICK = { repeats: 0, soak: { calls: 20, idleMs: 0 } };
const POSITIVE = expect.toSatisfy((value: unknown) => typeof value === 'number' && value > 0);

describe('a run over all targets', () => {
  let measured: Measured;
  let report: Report;

  beforeAll(async () => {
    const context = { signal: new AbortController().signal, tell: () => {} };
    measured = await run({ ...TINY, ...QUICK, targets: TARGETS }, context);
    report = toReport(measured, readOrigin());
  });

  it('gets right answers from every target in every cell', () => {
    expect(report.failures).toEqual([]);
    expect(report).toMatchObject({ name: 'bench', passed: 32, failed: 0, skipped: 0 });
  });

  it('gives throughput and latency of every target in every cell', () => {
    expect(Object.keys(report.figures.cells)).toEqual(LOAD_CELLS.map(({ name }) => name));
    for (const figures of Object.values(report.figures.cells)) {
      for (const target of TARGETS) {
        expect(figures[target]).toMatchObject({
          requests_per_second: POSITIVE,
          p50_us: POSITIVE,
          p99_us: POSITIVE,
          ...(process.platform === 'linux' && { foreign_load: expect.any(Number) }),
        });
      }
    }
  });

  it('gives the ratios under the names of the contract', () => {
    expect(report.ratios).toMatchObject(
      Object.fromEntries(
        LOAD_CELLS.flatMap(({ name }) => [
          [`starloom_over_bare.${name}`, POSITIVE],
          [`starloom_over_direct.${name}`, POSITIVE],
          [`fabric_call_over_bare.${name}`, POSITIVE],
          [`bare_over_direct.${name}`, POSITIVE],
        ]),
      ),
    );
  });

  it('gives first events of all targets, start-up and memory of the proxies', () => {
    const { first_event_ms, startup_ms, rss_mb } = report.figures;
    expect(Object.keys(first_event_ms)).toEqual([...TARGETS]);
    expect(startup_ms).toEqual({ direct: POSITIVE, bare: POSITIVE, starloom: POSITIVE });
    const direct = { idle: POSITIVE, after: POSITIVE };
    const proxy = { ...direct, soaked: POSITIVE };
    if (process.platform === 'linux')
      expect(rss_mb).toEqual({ direct, bare: proxy, starloom: proxy });
  });

  it('gives start and memory beside the bare proxy, a bare server and the own start', () => {
    const names = ['bare.startup', 'direct.startup', 'bare.first_event'];
    const ofMemory = ['bare.rss_idle', 'direct.rss_idle', 'start.rss_soaked'];
    const all = process.platform === 'linux' ? [...names, ...ofMemory] : names;
    expect(report.ratios).toMatchObject(
      Object.fromEntries(all.map((name) => [`starloom_over_${name}`, POSITIVE])),
    );
  });

  it('says what was measured, and can be printed as JSON', () => {
    expect(JSON.parse(JSON.stringify(report))).toMatchObject({
      versions: { node: process.versions.node, starloom: expect.any(String) },
      commit: expect.stringMatching(/./),
      machine: expect.stringMatching(/^\d+ shared cores$/),
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
  });

  it('fills the place for figures in the docs, again and again', async () => {
    await using folder = await temporaryFolder();
    const page = join(folder.path, 'benchmarks.md');
    await writeFile(page, await readFile(DOCS));
    await writeDocs('bench', 'figures of before', page);
    await writeDocs('bench', toMarkdown(report), page);
    const written = await readFile(page, 'utf8');
    expect(written).not.toContain('figures of before');
    expect(written).toContain('| `unary.c64` | req/s | ÷ bare |');
    expect(written).toMatch(/^# Benchmarks\n[\s\S]+## Agents\n/);
  });
});

describe('the report', () => {
  const origin = { versions: {}, commit: 'abc', machine: '2 shared cores', date: '2026-01-01' };

  it('compares targets within a round, and takes the median over the rounds', () => {
    const bare = [answers(100), answers(10), answers(1000)];
    const starloom = [answers(50), answers(8), answers(200)];
    const { ratios } = toReport(measuredOf('unary.c16', { bare, starloom }), origin);
    expect(ratios).toEqual({ 'starloom_over_bare.unary.c16': 0.5 });
  });

  it('fails a cell with wrong answers and says what the first was', () => {
    const wrong = { ...answers(9), failed: 1, failure: '503 busy' };
    const report = toReport(measuredOf('unary.c16', { bare: [answers(10), wrong] }), origin);
    expect(report).toMatchObject({ passed: 0, failed: 1, skipped: 3 });
    expect(report.failures).toEqual([expect.stringMatching(/^unary\.c16 bare: 1 .*503 busy$/)]);
  });

  it('fails a cell that nobody answered', () => {
    const report = toReport(measuredOf('unary.c64', { direct: [answers(0)] }), origin);
    expect(report).toMatchObject({ passed: 0, failed: 1 });
  });

  it('divides the CPU time of the proxy by the answers of all rounds', () => {
    const bare = [
      { ...answers(100), cpuMicroseconds: 20_000 },
      { ...answers(300), cpuMicroseconds: 40_000 },
    ];
    const { figures } = toReport(measuredOf('unary.c16', { bare }), origin);
    expect(figures.cells['unary.c16']?.bare).toMatchObject({ cpu_us: 150, busy: 0.03 });
  });

  it('says how much other programs took of the machine, and how many slices they disturbed', () => {
    const bare = [
      { ...answers(1), foreignLoad: 0.02, repeats: 0 },
      { ...answers(1), foreignLoad: 0.5, repeats: 3 },
      { ...answers(1), foreignLoad: 0.08, repeats: 1 },
    ];
    const { figures } = toReport(measuredOf('unary.c16', { bare }), origin);
    const load = { foreign_load: 0.2, disturbed_slices: 1, repeated_slices: 2 };
    expect(figures.cells['unary.c16']?.bare).toMatchObject(load);
  });

  it('compares peers with the bare proxy, and does not count what was not asked of them', () => {
    const results = { bare: [answers(100)], tbxark: [answers(30)] };
    const report = toReport(measuredOf('unary.c16.2025', results), origin);
    expect(report.ratios).toEqual({ 'tbxark_over_bare.unary.c16.2025': 0.3 });
    expect(report).toMatchObject({ passed: 2, failed: 0, skipped: 3 });
    expect(toMarkdown(report)).toContain('| tbxark | 30 | 0.30 |');
  });
});

describe('a slice that other programs disturb', () => {
  const loads = (...values: number[]) => {
    const take = vi.fn<() => Promise<MeasuredSlice>>();
    for (const foreignLoad of values) take.mockResolvedValueOnce({ ...answers(1), foreignLoad });
    return take;
  };

  it('is measured again until it is not disturbed', async () => {
    const take = loads(0.9, 0.4, 0.01);
    expect(await undisturbed(5, take)).toMatchObject({ foreignLoad: 0.01, repeats: 2 });
  });

  it('is measured so often at most, and the least disturbed result counts', async () => {
    const take = loads(0.9, 0.4, 0.7);
    expect(await undisturbed(2, take)).toMatchObject({ foreignLoad: 0.4, repeats: 2 });
  });

  it('is measured once where the machine does not tell', async () => {
    const take = vi.fn(async () => answers(1));
    expect(await undisturbed(5, take)).toMatchObject({ repeats: 0 });
    expect(take).toHaveBeenCalledOnce();
  });
});

describe('the load generator', () => {
  it('counts answers that do not hold what they should', async () => {
    await using server = await serve((_, response) => response.end('{"isError":true}'));
    const result = await runSlice(sliceOf(server.url));
    expect(result.latenciesMs).toEqual([]);
    expect(result.failed).toBeGreaterThan(0);
    expect(result.failure).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*isError/);
  });

  it('counts connections that break, and connects again', async () => {
    let requests = 0;
    await using server = await serve((request, response) => {
      requests += 1;
      if (requests === 1) request.socket.destroy();
      else response.end(upstreamCall({ kind: 'unary' }).holds.join());
    });
    const { failed, failure, latenciesMs } = await runSlice(sliceOf(server.url));
    expect(failed).toBe(1);
    expect(failure).toMatch(/closed|ECONNRESET/);
    expect(latenciesMs.length).toBeGreaterThan(0);
  });

  it('makes no more calls after a hundred wrong answers', () => {
    const tally = new Tally();
    for (let count = 0; count < 99; count += 1) tally.fail('no');
    expect(tally.isOver).toBe(false);
    tally.fail('no');
    expect(tally.isOver).toBe(true);
  });

  it('reads answers that come in pieces', async () => {
    const [text = ''] = upstreamCall({ kind: 'unary' }).holds;
    await using server = await serve((_, response) => {
      response.write(text.slice(0, 9));
      setImmediate(() => response.end(text.slice(9) + text));
    });
    const { failed, latenciesMs } = await runSlice(sliceOf(server.url));
    expect(failed).toBe(0);
    expect(latenciesMs.length).toBeGreaterThan(0);
  });
});

describe('the command', () => {
  it.each([
    ['--fast'],
    ['--targets', 'nginx'],
    ['--seconds', '-1'],
    ['--warmup', 'long'],
    ['--repeats', '-1'],
  ])('refuses %s %s and says what there is', (...args) => {
    expect(() => parseOptions(args)).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({ reason: 'usage' }),
      }),
    );
  });

  it('measures peers only when they are asked for', () => {
    expect(parseOptions([]).targets).toEqual(TARGETS);
    expect(parseOptions(['--peers']).targets).toEqual([...TARGETS, ...PEERS]);
    expect(parseOptions(['--targets', 'bare,tbxark']).targets).toEqual(['bare', 'tbxark']);
  });

  it('stops all it started when it is interrupted', async () => {
    const bench = fileURLToPath(new URL('../bench/main.ts', import.meta.url));
    const args = ['--conditions=@starloom/source', bench, '--no-pin', '--targets', 'direct'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const exited = once(child, 'exit');
    for await (const line of createInterface(child.stderr)) if (line.startsWith('warm-up')) break;
    child.stderr.resume();
    const children = childrenOf(child.pid);
    expect(children.length).toBeGreaterThanOrEqual(process.platform === 'linux' ? 2 : 0);
    child.kill('SIGINT');
    expect(await exited).toEqual([130, null]);
    await vi.waitFor(() => expect(children.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  });
});

function answers(count: number): SliceResult {
  const latenciesMs = Array.from({ length: count }, () => 1);
  return { seconds: 1, latenciesMs, firstEventsMs: [], failed: 0 };
}

function measuredOf(cell: string, results: Partial<Record<TargetName, MeasuredSlice[]>>): Measured {
  const targets = new Map(Object.entries(results) as [TargetName, MeasuredSlice[]][]);
  return { cells: new Map([[cell, targets]]), proxies: [] };
}

function sliceOf(url: string) {
  return { url, call: upstreamCall({ kind: 'unary' }), connections: 2, rampMs: 0, measureMs: 100 };
}

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  return { url, [Symbol.asyncDispose]: async () => void server.close() };
}

function childrenOf(parent: number | undefined): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && statusOf(pid).includes(`\nPPid:\t${parent}\n`));
}

function isAlive(pid: number): boolean {
  const state = /^State:\t(\w)/m.exec(statusOf(pid))?.[1] ?? 'X';
  return state !== 'Z' && state !== 'X';
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}
