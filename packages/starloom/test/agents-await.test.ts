import type { Health } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { awaitAgent } from '../src/commands/agents-place.ts';
import type { GatewayClient } from '../src/gateway-client.ts';
import type { Terminal } from '../src/terminal.ts';

const message = 'Started at 2026-11-16T10:00:00.000Z, it has not answered in MCP so far';

/** Each state is shown once, the last one for ever. */
async function awaitStates(...states: readonly Partial<Health>[]) {
  const told: string[] = [];
  let round = 0;
  const call = async (tool: string) => {
    const health = { checked_at: new Date().toISOString(), ...states[round] };
    round = Math.min(round + 1, states.length - 1);
    const agent = { agent_id: 'x', health, capabilities: [] };
    return tool === 'fabric.agent.list' ? { agents: [agent] } : { agent };
  };
  const gateway = { call } as unknown as GatewayClient;
  const terminal = { tell: (text: string) => told.push(text), showStatus: () => {} };
  const options = { agentId: 'x', since: 0, waitMs: 20_000, reportMs: 0 };
  const reached = awaitAgent(terminal as unknown as Terminal, gateway, options);
  return { told, result: await reached.catch((error: unknown) => error) };
}

describe('an agent that was added and does not answer', () => {
  it('is reported once with what it wrote, and still waited for', async () => {
    const starting = { status: 'starting', message, upstream: { stderr: 'resolving' } } as const;
    const { told, result } = await awaitStates(starting, starting, { status: 'online' });
    expect(result).toMatchObject({ agent_id: 'x', health: { status: 'online' } });
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/"x" was added, but is still starting after \d+ s: Started at 2026/);
    expect(told[0]).toMatch(
      /\n {2}its stderr: resolving\n {2}fix: .*agents remove x(.|\n)*waiting/,
    );
  });

  it('is given up when it writes to stdout what is no answer', async () => {
    const upstream = { stdout: 'Listening on port 3000' };
    const { told, result } = await awaitStates({ status: 'starting', message, upstream });
    expect(result).toMatchObject({
      code: 'AGENT_OFFLINE',
      message: expect.stringContaining(message),
      details: { reason: 'starting', why: message, upstream },
    });
    expect(told).toEqual([]);
  });
});
