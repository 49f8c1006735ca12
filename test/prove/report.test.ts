import { describe, expect, it } from 'vitest';
import { ACTS } from '../../prove/coordination/acts.ts';
import { toReport, toText } from '../../prove/coordination/report.ts';
import type { CampaignResult } from '../../prove/coordination/tally.ts';
import { INVARIANTS, violation } from '../../prove/coordination/violation.ts';

const WHOLE: CampaignResult = {
  store: 'embedded',
  operations: 900,
  outcomes: { ok: 700, refused: 190, unknown: 10 },
  acts: Object.fromEntries(ACTS.map((act) => [act, 1])),
  deliveries: 800,
  gaps: 0,
  faults: { kill_gateway: 1, cut_clients: 2 },
  keys: 100,
  undecided: 0,
  rounds: 1,
  violations: [],
  versions: {},
};

const { repeat: _, ...WITHOUT_REPEATS } = WHOLE.acts;

function report(changes: Partial<CampaignResult>) {
  return toReport([{ ...WHOLE, ...changes }], 1, { versions: {}, commit: '' });
}

describe('a run', () => {
  it('in which everything happened and held has not failed', () => {
    const whole = report({});
    expect(whole).toMatchObject({ passed: INVARIANTS.length, failed: 0, missing: [] });
    expect(whole).toMatchObject({ operations: 900, faults: 3, violations: 0 });
  });

  it('with a violation has failed', () => {
    const broken = report({ violations: [violation('linearizable', 'k')] });
    expect(broken).toMatchObject({ passed: INVARIANTS.length - 1, failed: 1, violations: 1 });
  });

  it.for([
    ['no operation', { operations: 0 }, 'no operation'],
    ['no delivery', { deliveries: 0, gaps: 2_000 }, 'no delivery'],
    ['no key to search', { keys: 0 }, 'no key'],
    ['a fault that never came', { faults: { kill_gateway: 3, kill_redis: 0 } }, 'kill_redis'],
    ['an act that was never seen', { acts: WITHOUT_REPEATS }, 'repeat'],
    ['many searches given up', { undecided: 3 }, '3 of 100 searches'],
  ] as const)('with %s has failed and says so', ([, changes, said]) => {
    const short = report(changes);
    expect(short.failed).toBe(1);
    expect(short.missing).toEqual([expect.stringContaining(said)]);
    expect(toText(short)).toContain(`missing: ${short.missing[0]}`);
  });

  it('with few searches given up has not failed, and says how many', () => {
    const few = report({ undecided: 2 });
    expect(few).toMatchObject({ failed: 0, skipped: 2 });
    expect(toText(few)).toContain('2 searches given up');
  });
});
