// After a file of agents changed: waits until the gateway that reads it has seen the change, and
// says what the new agent offers or why it cannot be reached.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, isObject } from '@starloom/core';
import type { GatewayClient } from '../gateway-client.ts';
import type { Terminal } from '../terminal.ts';
import type { AgentView } from '../tool-payloads.ts';
import { upstreamLines } from '../upstream-lines.ts';

export interface AwaitOptions {
  readonly agentId: string;
  /** When the file was written: an older state of an agent with this id does not count. */
  readonly since: number;
  readonly waitMs: number;
  /** An agent that has not answered by then is reported, with what it wrote. */
  readonly reportMs?: number;
}

const POLL_MS = 150;
const REPORT_MS = 6_000;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** The agent once it is reachable. AGENT_OFFLINE with what the gateway knows when it is not. */
export async function awaitAgent(
  terminal: Terminal,
  gateway: GatewayClient,
  { agentId, since, waitMs, reportMs = REPORT_MS }: AwaitOptions,
): Promise<AgentView> {
  const began = performance.now();
  let isReported = false;
  for (let round = 0; ; round += 1) {
    const agent = await findAgent(gateway, agentId);
    const health = agent?.health;
    const isFresh = Date.parse(health?.checked_at ?? '') >= since;
    if (isFresh && (health?.status === 'online' || health?.status === 'degraded')) {
      const { agent: found } = await gateway.call('fabric.agent.describe', { agent_id: agentId });
      // One that answers, but refuses to say what it offers, is of no use yet.
      if (health.status === 'online' || found.capabilities.length > 0) return found;
      throw notReached(agentId, found, 0);
    }
    const waited = performance.now() - began;
    const isRefused = isFresh && health?.status === 'offline';
    const isSilent = isFresh && waited > reportMs;
    // What stands on stdout and is no answer is not MCP: more of it will not be, either.
    const hasStrayed = isSilent && isObject(health?.upstream) && 'stdout' in health.upstream;
    if (isRefused || hasStrayed || waited > waitMs) throw notReached(agentId, agent, waited);
    if (isSilent && !isReported) {
      isReported = true;
      const { message, details } = notReached(agentId, agent, waited);
      const facts = [...upstreamLines(details.upstream), `fix: ${details.fix}`];
      const last = `waiting for up to ${Math.round((waitMs - waited) / 1000)} s more …`;
      terminal.tell([message, ...facts, last].join('\n  '));
    }
    const frame = FRAMES[round % FRAMES.length];
    terminal.showStatus(`${frame} ${agentId}: ${health?.status ?? 'waiting for the gateway'} …`);
    await delay(POLL_MS);
  }
}

/** Resolves when the gateway no longer lists the agent; false when it still does. */
export async function awaitRemoval(
  gateway: GatewayClient,
  agentId: string,
  waitMs: number,
): Promise<boolean> {
  const began = performance.now();
  while ((await findAgent(gateway, agentId)) !== undefined) {
    if (performance.now() - began > waitMs) return false;
    await delay(POLL_MS);
  }
  return true;
}

async function findAgent(gateway: GatewayClient, agentId: string): Promise<AgentView | undefined> {
  const { agents } = await gateway.call('fabric.agent.list', {});
  return agents.find(({ agent_id }) => agent_id === agentId);
}

function notReached(agentId: string, agent: AgentView | undefined, waited: number): FabricError {
  const seconds = Math.round(waited / 1000);
  if (agent === undefined) {
    return new FabricError('AGENT_OFFLINE', `The gateway did not load "${agentId}"`, {
      details: {
        agent_id: agentId,
        reason: 'not_loaded',
        fix: 'see "starloom health" and its log',
      },
    });
  }
  const { status, message, upstream, fix: cure } = agent.health;
  const isOver = status === 'offline' || status === 'degraded';
  const state = isOver ? `is ${status}` : `is still ${status} after ${seconds} s`;
  const why = message ?? (isOver ? 'the gateway cannot reach it' : 'it has not answered');
  const again = cure ?? `correct it with "starloom agents add --force ${agentId} …"`;
  const fix = `${again}, or remove it with "starloom agents remove ${agentId}"`;
  return new FabricError('AGENT_OFFLINE', `"${agentId}" was added, but ${state}: ${why}`, {
    details: {
      agent_id: agentId,
      reason: status,
      why,
      ...(upstream !== undefined && { upstream }),
      fix,
    },
  });
}
