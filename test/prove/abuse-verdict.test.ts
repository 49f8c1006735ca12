import { describe, expect, it } from 'vitest';
import type { Latencies, Observed } from '../../prove/abuse/ordinary-client.ts';
import { toMarkdown } from '../../prove/abuse/report.ts';
import { judge } from '../../prove/abuse/verdict.ts';

const FLOORS = { ms: 30, mb: 48 };
const MEMORY = {
  before: { resident: 200, live: 50 },
  peak: 400,
  after: { resident: 248, live: 50 },
};

const SLICE = { p99: 16, noCore: 0, foreign: 0, turns: { p99: 1, longest: 2 } };
const ROUND = { quiet: SLICE, during: SLICE };
const ORIGIN = { versions: { node: '26' }, commit: 'abc', machine: '2 cores', date: '2026-01-01' };

function latencies(p99: number, failed = 0): Latencies {
  return { sent: 1_000, ok: 1_000 - failed, stolen: 0, p50: 1, p99 };
}

function observed(of: Partial<Observed> = {}): Observed {
  const kinds = { calls: 16, updates: 16, newcomers: 16, direct: 6, disk: 4 };
  const all = Object.entries(kinds).map(([kind, p99]) => [kind, latencies(p99)]);
  return { ...(Object.fromEntries(all) as Omit<Observed, 'failures'>), failures: [], ...of };
}

function problems(during: Partial<Observed>, resident = MEMORY.after.resident) {
  const memory = { ...MEMORY, after: { resident, live: 50 } };
  const rest = { memory, lostUpdates: 0, problems: [] };
  const seen = { quiet: observed(), first: observed(), during: observed(during) };
  return judge({ ...seen, ...rest }, FLOORS);
}

describe('an attack', () => {
  it.each<[string, Partial<Observed>, RegExp | undefined]>([
    ['calls at five times the quiet ones', { calls: latencies(80) }, undefined],
    ['slower calls', { calls: latencies(81) }, /^p99 of calls was 81 ms of 80/],
    ['calls on a busy machine', { calls: latencies(119), direct: latencies(24) }, undefined],
    ['updates that wait for the disk', { updates: latencies(87) }, undefined],
    ['slower updates', { updates: latencies(89) }, /^p99 of updates was 89 ms of 88/],
    ['newcomers within a second', { newcomers: latencies(999) }, undefined],
    ['newcomers after it', { newcomers: latencies(1_001) }, /^p99 of calls on new connections/],
    ['three failures of 3,000', { newcomers: latencies(8, 3) }, undefined],
    ['four of them', { newcomers: latencies(8, 4) }, /^success was 99.87 %/],
  ])('is judged by %s', (_, during, problem) => {
    const found = problems(during);
    if (problem) expect(found).toEqual([expect.stringMatching(problem)]);
    else expect(found).toEqual([]);
  });

  it('is judged by what it does at first, too', () => {
    const seen = { quiet: observed(), first: observed({ calls: latencies(81) }) };
    const rest = { during: observed(), memory: MEMORY, lostUpdates: 0, problems: [] };
    expect(judge({ ...seen, ...rest }, FLOORS)).toEqual(['at first p99 of calls was 81 ms of 80']);
  });

  it('stands in the page beside a bare proxy, and beside calls without a gateway', () => {
    const seen = { quiet: observed(), first: observed({ calls: latencies(64) }) };
    const during = observed({ calls: latencies(32), direct: latencies(9) });
    const proxy = { quiet: latencies(10), during: latencies(25) };
    const rounds = [ROUND];
    const about = { name: 'flood', about: '', operations: 1, counts: {}, problems: [] };
    const result = { ...about, ...seen, during, proxy, memory: MEMORY, rounds };
    const text = toMarkdown([result], ORIGIN);
    expect(text).toContain('| `flood` | 16 → 32 | 2.0 | 4.0 | 10 → 25 | 2.5 | 6.0 → 9.0 | 1.5 |');
  });

  it('is judged by the memory that stays', () => {
    expect(problems({}, 249)).toEqual([expect.stringMatching(/^memory stayed at 249 MB of 248/)]);
  });
});
