import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@starloom/testkit';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Report, toReport } from '../../bench/coordination/report.ts';
import { run } from '../../bench/coordination/run.ts';
import { toMarkdown } from '../../bench/coordination/table.ts';
import { readOrigin } from '../../bench/origin.ts';
import { DOCS, writeDocs } from '../../bench/write-docs.ts';
import { descendantsOf, running } from '../support/descendants.ts';

const TINY = {
  seconds: 0.1,
  warmup: 0,
  sliceMs: 100,
  cores: undefined,
  sizes: { subscribers: 20, missedEvents: 200 },
  parts: ['embedded', 'gateway'],
} as const;
const POSITIVE = expect.toSatisfy((value: unknown) => typeof value === 'number' && value > 0);
const MAIN = fileURLToPath(new URL('../../bench/coordination/main.ts', import.meta.url));

describe('a run without Redis', () => {
  let report: Report;

  beforeAll(async () => {
    const context = { signal: new AbortController().signal, tell: () => {} };
    report = toReport(await run(TINY, context), readOrigin('redis'));
  });

  it('gets everything done as it should be, and counts what it left out', () => {
    expect(report.failures).toEqual([]);
    expect(report).toMatchObject({ passed: 8, failed: 0, skipped: 4 });
  });

  it('gives rates of the stores and of the gateway', () => {
    const figures = expect.objectContaining({ updates_per_second: POSITIVE });
    expect(report.figures.updates).toEqual({
      'embedded.memory': { starloom: figures, bare: figures },
      'embedded.durable': { starloom: figures, bare: figures },
      'gateway.lock_token': { starloom: figures },
    });
  });

  it('gives the ratio to SQLite, and to a bare server', () => {
    expect(report.ratios).toEqual({
      'starloom_over_bare.embedded.memory': POSITIVE,
      'starloom_over_bare.embedded.durable': POSITIVE,
      'starloom_over_bare.fan_out.last_delivery_p50_ms': POSITIVE,
    });
  });

  it('gives the time of the last delivery, and of resuming', () => {
    const times = { last_delivery_p50_ms: POSITIVE, last_delivery_p99_ms: POSITIVE };
    expect(report.figures.fan_out).toMatchObject({ starloom: times, bare: times });
    expect(report.figures.resume).toEqual({ events: 200, p50_ms: POSITIVE, most_ms: POSITIVE });
  });

  it('says what was measured, and can be printed as JSON', () => {
    expect(JSON.parse(JSON.stringify(report))).toMatchObject({
      name: 'bench:coordination',
      versions: { node: process.versions.node, redis: expect.any(String) },
      commit: expect.stringMatching(/./),
    });
  });

  it('fills its own place in the docs, and no other', async () => {
    await using folder = await temporaryFolder();
    const page = join(folder.path, 'benchmarks.md');
    const before = await readFile(DOCS, 'utf8');
    await writeFile(page, before);
    await writeDocs('bench:coordination', 'figures of before', page);
    await writeDocs('bench:coordination', toMarkdown(report), page);
    const written = await readFile(page, 'utf8');
    expect(written).not.toContain('figures of before');
    expect(written).toContain('| embedded.durable |');
    const [others = ''] = before.split('## Coordination');
    expect(written).toContain(others);
  });
});

describe('the command', () => {
  it('stops all it started when it is interrupted', async () => {
    const args = ['--conditions=@starloom/source', MAIN, '--no-pin', '--parts', 'gateway'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const exited = once(child, 'exit');
    for await (const line of createInterface(child.stderr)) if (line.startsWith('updates')) break;
    child.stderr.resume();
    const started = descendantsOf(child.pid ?? 0);
    expect(started.length).toBeGreaterThanOrEqual(3);
    child.kill('SIGINT');
    expect(await exited).toEqual([130, null]);
    await vi.waitFor(() => expect(running(started)).toEqual([]), { timeout: 10_000 });
  });

  it('ends with 64 when it is used wrongly', async () => {
    const args = ['--conditions=@starloom/source', MAIN, '--parts', 'nothing'];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([64, null]);
  });
});
