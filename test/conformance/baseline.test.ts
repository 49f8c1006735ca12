import { describe, expect, it } from 'vitest';
import { judge } from './baseline.ts';
import type { Check, ScenarioResult } from './suite.ts';

const result = (scenario: string, ...checks: Check[]): ScenarioResult => ({
  revision: '2026-07-28',
  scenario,
  scored: true,
  checks,
});
const passes: Check = { id: 'first', status: 'SUCCESS' };
const fails: Check = { id: 'second', status: 'FAILURE', errorMessage: 'it broke' };
const warns: Check = { id: 'third', status: 'WARNING' };

describe('the list of expected failures', () => {
  it('lets nothing pass that is not on it, a warning neither', () => {
    const { unexpected } = judge([result('tools', passes, fails), result('prompts', warns)], []);
    expect(unexpected).toEqual(['2026-07-28 tools:second it broke', '2026-07-28 prompts:third']);
  });

  it('excuses a scenario, or one check of it', () => {
    const results = [result('tools', fails, warns), result('prompts', fails)];
    expect(judge(results, ['tools', 'prompts:second'])).toEqual({ unexpected: [], stale: [] });
    expect(judge(results, ['tools:second', 'prompts']).unexpected).toEqual([
      '2026-07-28 tools:third',
    ]);
  });

  it('is stale where it excuses nothing', () => {
    const results = [result('tools', passes), result('prompts', fails)];
    const baseline = ['tools', 'prompts', 'prompts:other', 'gone'];
    expect(judge(results, baseline).stale).toEqual(['tools', 'prompts:other', 'gone']);
  });
});
