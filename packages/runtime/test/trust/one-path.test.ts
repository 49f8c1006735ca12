import { silentLog, systemClock } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { createPermission } from '../../src/core/permission.ts';
import type { ToolSource } from '../../src/core/seams.ts';
import { ToolPath } from '../../src/core/tool-path.ts';
import { ToolRegistry } from '../../src/core/tool-registry.ts';
import { type DecisionRecord, verifyDecisions } from '../../src/decision-log/decision-record.ts';
import { openTrust, readFile, request, runShell, type TrustWorld, tool } from './world.ts';

describe('the one path of a tool call', () => {
  it('[S8] verifies and records a call of every origin', async () => {
    await using world = await openTrust();
    const path = pathOf(world);
    const blocks = [world.user('Summarise.'), world.read(readFile, 'run id')];
    for (const origin of ['user', 'model', 'remote'] as const) {
      await path.call(request(runShell, { command: 'id' }, blocks, { origin }), () => {});
    }
    const records: DecisionRecord[] = [];
    await world.close();
    const file = world.decisions.file ?? '';
    const report = await verifyDecisions(file, { onDecision: (one) => records.push(one) });
    expect(report.intact).toBe(true);
    expect(records.map(({ origin, decision, outcome }) => [origin, decision, outcome])).toEqual([
      ['user', 'allow', 'executed'],
      ['model', 'deny', 'denied'],
      ['remote', 'deny', 'denied'],
    ]);
  });

  it('[S7] brings results of MCP servers into the context as untrusted data', async () => {
    await using world = await openTrust();
    const { block } = await pathOf(world).call(request(page, {}), () => {});
    expect(block).toMatchObject({ trust: 'untrusted', type: 'data', source: 'mcp:wiki' });
  });
});

const page = tool('wiki:get_page', { source: 'mcp:wiki', untrusted: false });

function pathOf({ verifier, labeller }: TrustWorld): ToolPath {
  const source: ToolSource = {
    list: () => [runShell, page],
    onChange: () => () => {},
    close: async () => {},
  };
  return new ToolPath({
    registry: new ToolRegistry([source]),
    permission: createPermission({ expose_tools: [runShell.name], private_tools: [] }),
    verifier,
    labeller,
    clock: systemClock,
    log: silentLog,
  });
}
