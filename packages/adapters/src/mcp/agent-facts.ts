// What an MCP agent is asked beside calls: whether it is well, and what it offers.

import {
  type AgentDescription,
  FabricError,
  type Health,
  type Manifest,
  toHealthReason,
} from '@starloom/core';
import { type ConnectionAttempt, type McpClient, rpcErrorOf } from '@starloom/mcp-client';
import { cleanText, deadlineSignal } from '@starloom/wire';
import { toCapability } from './translate.ts';

const MAX_VERSION = 128;
const MAX_DESCRIPTION = 8_192;
const MAX_INSTRUCTIONS = 65_536;

const HEALTH_TIMEOUT_MS = 10_000;

export async function healthOf(client: McpClient, parent: AbortSignal): Promise<Health> {
  using deadline = deadlineSignal({ ms: HEALTH_TIMEOUT_MS, parent });
  const started = performance.now();
  try {
    await client.ping(deadline.signal);
  } catch (error) {
    if (!rpcErrorOf(error)) return failedHealth(FabricError.from(error), client.attempt);
  }
  const latency_ms = performance.now() - started;
  return { status: 'online', checked_at: new Date().toISOString(), latency_ms };
}

export async function describeAgent(
  client: McpClient,
  { agent_id }: Manifest,
  signal: AbortSignal,
): Promise<AgentDescription> {
  try {
    const { server, instructions } = await client.facts(signal);
    const tools = await client.listTools(signal);
    const said = {
      version: cleanText(server?.version, MAX_VERSION),
      description: cleanText(server?.description, MAX_DESCRIPTION),
      instructions: cleanText(instructions, MAX_INSTRUCTIONS),
    };
    const capabilities = [...tools.values()].map(toCapability);
    const given = Object.entries(said).filter(([, text]) => text);
    return { ...Object.fromEntries(given), capabilities };
  } catch (error) {
    throw FabricError.from(error).with({ agent_id });
  }
}

function failedHealth(error: FabricError, attempt: ConnectionAttempt | undefined): Health {
  const checked_at = new Date().toISOString();
  if (attempt && error.code === 'TIMEOUT') {
    return { status: 'starting', checked_at, ...whyStarting(attempt) };
  }
  const isThere = error.code === 'AUTH_DENIED' || error.code === 'RATE_LIMITED';
  return { status: isThere ? 'degraded' : 'offline', checked_at, ...toHealthReason(error) };
}

/** `upstream` is what a child process wrote so far; agents over HTTP have none. */
function whyStarting({ since, upstream }: ConnectionAttempt): Partial<Health> {
  const at = new Date(since).toISOString();
  if (!upstream) {
    const fix = 'check that the address is that of an MCP server';
    return { message: `Connecting since ${at}, without an answer so far`, fix };
  }
  const hasWritten = Object.keys(upstream).length > 0;
  return {
    message: `Started at ${at}, it has ${hasWritten ? 'not answered in MCP' : 'written nothing'} so far`,
    ...(hasWritten && { upstream }),
    fix: 'wait if it is being installed, else check that its command runs an MCP server on stdio',
  };
}
