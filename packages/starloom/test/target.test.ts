import { hashToolName } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { findTarget, nearestName } from '../src/commands/target.ts';
import type { AgentView } from '../src/tool-payloads.ts';

const agent = (agent_id: string, ...names: string[]) =>
  ({ agent_id, capabilities: names.map((name) => ({ name })) }) as unknown as AgentView;

const AGENTS = [
  agent('percy', 'reason'),
  agent('git-hub', 'fs:read_file', 'create_issue'),
  agent('files', 'fs.list'),
  agent('a', 'b_c'),
  agent('a_b', 'c'),
];

describe('what a call names', () => {
  it.each([
    [['percy', 'reason', 'why'], 'percy', 'reason', ['why']],
    [['percy.reason', 'why'], 'percy', 'reason', ['why']],
    [['percy_reason', 'why'], 'percy', 'reason', ['why']],
    [['git-hub.fs:read_file'], 'git-hub', 'fs:read_file', []],
    [['git-hub.fs.read_file'], 'git-hub', 'fs:read_file', []],
    [['files.fs:list'], 'files', 'fs.list', []],
    [['fs:list'], undefined, 'fs:list', []],
    [['fs.read_file'], undefined, 'fs.read_file', []],
    [['git-hub_fs_read_file'], 'git-hub', 'fs:read_file', []],
    [['git-hub_create_issue', 'x'], 'git-hub', 'create_issue', ['x']],
    [['reason', 'why'], undefined, 'reason', ['why']],
    [['percy.unknown'], 'percy', 'unknown', []],
  ])('is found in %j', (words, agentId, capability, rest) => {
    expect(findTarget(AGENTS, words)).toEqual({ agentId, capability, rest });
  });

  it('by a name that two tools share is refused with both', () => {
    expect(() => findTarget(AGENTS, ['a_b_c'])).toThrow(
      expect.objectContaining({
        code: 'BAD_INPUT',
        details: expect.objectContaining({
          reason: 'ambiguous',
          fix: 'write one of: "a b_c", "a_b c"',
        }),
      }),
    );
  });

  it('by the listed name of one of them, which ends in a hash, is found', () => {
    const listed = hashToolName('a_b_c', 'a_b', 'c');
    expect(listed).toMatch(/^a_b_c-[0-9a-f]{8}$/);
    expect(findTarget(AGENTS, [listed])).toMatchObject({ agentId: 'a_b', capability: 'c' });
  });

  it.each([
    [['percyy', 'reason'], 'did you mean "percy"?'],
    [['percy.raeson'], 'did you mean "percy.reason"?'],
    [['create_isue'], 'did you mean "create_issue"?'],
  ])('that is unknown is refused with what was meant: %j', (words, fix) => {
    expect(nearestName(words, AGENTS)).toBe(fix);
  });

  it('with the agent alone is refused with what the agent offers', () => {
    expect(() => findTarget(AGENTS, ['percy'])).toThrow(
      expect.objectContaining({
        details: expect.objectContaining({ reason: 'usage', fix: 'name one of: reason' }),
      }),
    );
  });

  it('is left to the gateway while an agent was never reached', () => {
    expect(findTarget([agent('new')], ['anything'])).toMatchObject({ capability: 'anything' });
    expect(() => findTarget(AGENTS, ['anything'])).toThrow(/no agent, tool or capability/);
  });
});
