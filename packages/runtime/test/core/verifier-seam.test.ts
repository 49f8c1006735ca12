import { createTrace, ROOT_HOP, silentLog, systemClock } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { createPermission } from '../../src/core/permission.ts';
import type { Origin, ToolFate, Verdict, Verifier } from '../../src/core/seams.ts';
import { ToolPath } from '../../src/core/tool-path.ts';
import { fixedSource, ToolRegistry } from '../../src/core/tool-registry.ts';
import { createLabeller } from '../../src/trust/labels.ts';
import { echo, tool } from './world.ts';

const broken = tool('test:broken', () => {
  throw new Error('no');
});

/** Runs one call past this check, and tells what was recorded. */
async function runPast(
  verify: Verifier['verify'],
  { name = 'test:echo', args = { text: 'hi' } as unknown, origin = 'model' as Origin } = {},
) {
  const recorded: [Verdict['decision'], string, ToolFate][] = [];
  const path = new ToolPath({
    registry: new ToolRegistry([fixedSource([echo, broken])]),
    permission: createPermission({ expose_tools: [], private_tools: [] }),
    verifier: {
      verify,
      record: (_request, _tool, { decision, rule }, fate) => recorded.push([decision, rule, fate]),
    },
    labeller: createLabeller(),
    clock: systemClock,
    log: silentLog,
  });
  const { signal } = new AbortController();
  const call = { id: 'c1', name, args };
  const outcome = await path.call(
    { call, origin, sessionId: 's', trace: createTrace(), hop: ROOT_HOP, signal, blocks: [] },
    () => {},
  );
  return { outcome, recorded };
}

const allow: Verdict = { decision: 'allow', rule: 'fine', reasons: [] };
const deny: Verdict = { decision: 'deny', rule: 'leak', reasons: ['it leaks'] };

describe('the check before every call', () => {
  it.each(['user', 'model'] as const)(
    'runs for a call of the %s, and is recorded once',
    async (origin) => {
      const { outcome, recorded } = await runPast(() => allow, { origin });
      expect(outcome.error).toBeUndefined();
      expect(recorded).toEqual([['allow', 'fine', 'executed']]);
    },
  );

  it('records a call that was allowed and failed as failed', async () => {
    const { recorded } = await runPast(() => allow, { name: 'test:broken', args: {} });
    expect(recorded).toEqual([['allow', 'fine', 'failed']]);
  });

  it('stops what it denies, with its reasons', async () => {
    const { outcome, recorded } = await runPast(async () => deny);
    expect(outcome.error).toMatchObject({
      code: 'POLICY_DENIED',
      details: { reasons: ['it leaks'] },
    });
    expect(recorded).toEqual([['deny', 'leak', 'denied']]);
  });

  it('means no when it fails itself', async () => {
    const { outcome, recorded } = await runPast(() => {
      throw new Error('a bug in a rule');
    });
    expect(outcome.error?.code).toBe('POLICY_DENIED');
    expect(recorded).toEqual([['deny', 'check_failed', 'denied']]);
  });

  it('records what another agent may not call, and is not asked about it', async () => {
    const { recorded } = await runPast(() => allow, { origin: 'remote' });
    expect(recorded).toEqual([['deny', 'not_exposed', 'denied']]);
  });

  it('sees the arguments as they will run, parsed and frozen', async () => {
    let seen: unknown;
    const verify: Verifier['verify'] = ({ call }) => {
      seen = call.args;
      return allow;
    };
    await runPast(verify, { args: '{"text":"hi"}' });
    expect(seen).toEqual({ text: 'hi' });
    expect(Object.isFrozen(seen)).toBe(true);
  });
});
