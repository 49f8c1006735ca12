import type { JobDocument } from '@starloom/jobs';
import { describe, expect, it } from 'vitest';
import { ageOf, progressOf, toPage } from '../src/commands/jobs.ts';
import { withoutPaint } from '../src/terminal-text.ts';

const NOW = Date.parse('2026-01-02T03:04:05.000Z');
const JOB: JobDocument = {
  job_id: '5cbda5ae',
  state: 'running',
  agent_id: 'slow',
  capability: 'work',
  created_at: '2026-01-02T03:03:00.000Z',
  updated_at: '2026-01-02T03:04:00.000Z',
  attempt: 1,
  progress: { percent: 16.666666666666668, message: 'step 1' },
  cursor: 4,
};
const CREATED = '  created   2026-01-02T03:03:00.000Z (65 s ago)';
const CHANGED = '  changed   2026-01-02T03:04:00.000Z (5 s ago)';
const pageOf = (job: Partial<JobDocument>) =>
  withoutPaint(toPage({ ...JOB, ...job }, NOW)).split('\n');

describe('a job in the terminal', () => {
  it('has its call, its times and its progress in whole percent', () => {
    expect(pageOf({})).toEqual([
      '5cbda5ae  running',
      '  call      slow.work',
      CREATED,
      CHANGED,
      '  progress  17 % step 1',
    ]);
  });

  it('is at 100 % once it succeeded, and ends with its answer', () => {
    const page = pageOf({ state: 'succeeded', result: { ok: true, result: { answer: 'done' } } });
    expect(page.slice(-3)).toEqual(['  progress  100 % step 1', '', 'done']);
    const { progress: _, ...silent } = JOB;
    expect(progressOf({ ...silent, state: 'succeeded' })).toBe('100 %');
  });

  it('says why it failed, and which command helps', () => {
    const fix = 'start it again with fabric.job.retry';
    const error = { code: 'UPSTREAM_ERROR', message: 'It ended', details: { fix } } as const;
    expect(pageOf({ state: 'failed', attempt: 2, retry_of: '1', error })).toEqual([
      '5cbda5ae  failed',
      '  call      slow.work',
      CREATED,
      CHANGED,
      '  attempt   2',
      '  retry of  1',
      '  error UPSTREAM_ERROR: It ended',
      '    fix: start it again with "starloom jobs retry 5cbda5ae"',
    ]);
  });

  it('shows what its agent asks, and how to answer', () => {
    const page = pageOf({ state: 'awaiting_input', inputs: [{ id: 'q1', message: 'Which?' }] });
    expect(page.slice(-2)).toEqual([
      '  asks      q1: Which?',
      '  fix: answer with "starloom jobs input 5cbda5ae <question>=<answer>"',
    ]);
  });

  it.each([
    [0, '0 s'],
    [119, '119 s'],
    [120, '2 min'],
    [7_200, '2 h'],
    [200_000, '2 d'],
  ])('is %i seconds old: %s', (seconds, shown) => {
    expect(ageOf(new Date(NOW - 1_000 * seconds).toISOString(), NOW)).toBe(shown);
  });
});
