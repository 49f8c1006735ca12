// The agent as an A2A server, put together. The SDK and the engine of its tasks are loaded here alone.

import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCardSigner } from '@starloom/a2a/tasks';
import { type Clock, type Log, systemClock } from '@starloom/core';
import { createMemoryJobEngine, openSqliteJobs } from '@starloom/jobs';
import { writeOwnFile } from '@starloom/wire/own-file';
import type { Agent } from '../agent.ts';
import { ExposedTools } from '../core/exposed-tools.ts';
import type { HttpFace, HttpFaceOptions } from '../http-face.ts';
import { createMandateCheck } from '../mandate-check.ts';
import { AgentTasks } from './agent-tasks.ts';
import type { TaskApprovals } from './approvals.ts';
import { openA2aHttp } from './serve-http.ts';

export { TaskApprovals } from './approvals.ts';

export interface A2aServerOptions extends HttpFaceOptions {
  readonly agent: Agent;
  /** With which the agent was opened. */
  readonly approvals?: TaskApprovals | undefined;
  /** Whether callers need a key, for the card; default: where there is an authenticator. */
  readonly needsKey?: boolean | undefined;
  /** Of this agent: tasks and the key of the card are kept below it; absent: in memory. */
  readonly folder?: string | undefined;
  readonly log: Log;
  readonly clock?: Clock;
}

export interface A2aServer extends HttpFace {
  /** The public half of the key that signs the card, as JWK. */
  readonly cardKey: Readonly<Record<string, unknown>>;
}

const KEY_FILE = 'a2a-card-key.pem';

export async function openA2aServer(options: A2aServerOptions): Promise<A2aServer> {
  const { agent, approvals, folder, log, clock = systemClock, authenticator } = options;
  const { config, guard } = agent;
  const { a2a } = config.toml;
  const { mcp } = config.agent;
  const tools = new ExposedTools(agent, mcp, log);
  const pem = a2a.signing_key?.reveal() ?? (await keptKey(folder));
  const engine =
    folder === undefined
      ? createMemoryJobEngine(clock)
      : await openSqliteJobs({ path: join(folder, 'a2a', 'tasks.sqlite'), clock, log });
  const tasks = new AgentTasks({
    agent,
    guard,
    tools,
    engine,
    approvals: a2a.approvals === 'caller' ? approvals : undefined,
    checkMandate: mcp.mandate && createMandateCheck(mcp.mandate, guard.agentId),
    clock,
    log,
  });
  try {
    const face = await openA2aHttp({
      ...{ agent, tools, tasks, clock, log, authenticator },
      sign: createCardSigner(pem),
      host: options.host,
      port: options.port,
      needsKey: options.needsKey ?? authenticator !== undefined,
    });
    const cardKey = createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' });
    return { ...face, cardKey: { ...cardKey } };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Clients may pin the key, so it outlives the process. */
async function keptKey(folder: string | undefined): Promise<string> {
  const path = folder === undefined ? undefined : join(folder, KEY_FILE);
  const kept = path && (await readFile(path, 'utf8').catch(() => undefined));
  if (kept) return kept;
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  if (path) await writeOwnFile(path, pem);
  return pem;
}
