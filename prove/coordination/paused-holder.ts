// The pause that no lease survives: a process takes the lock, is stopped with SIGSTOP until another
// has the lock and has written, and then writes under its old token. It must be refused.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@starloom/wire';
import { Child } from '../../bench/child.ts';
import { Client, toOutcome, toToken, toVersion } from './client.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { History, Operation } from './history.ts';
import type { Answer, Fields } from './link.ts';

const PROGRAM = fileURLToPath(new URL('holder-program.ts', import.meta.url));
const LEASE_MS = 400;
const ANSWER_MS = 15_000;
const RESOURCE = 'context';
/**
 * Ahead of the agents of the workload, so that a pause does not fail for want of a lock; and the
 * wait is shorter than the lease, which is so still there at its end when no news of it came.
 */
const LEASE = { resource: RESOURCE, ttl_ms: LEASE_MS, wait_ms: 300, priority: 100 };
const MAX_ATTEMPTS = 10;

export interface PauseOptions {
  readonly gateway: GatewayProcess;
  readonly history: History;
  readonly session: string;
  readonly signal: AbortSignal;
}

export class PausedHolder implements AsyncDisposable {
  readonly #child: Child;
  #pauses = 0;

  static async start(): Promise<PausedHolder> {
    const args = ['--conditions=@starloom/source', PROGRAM];
    const env = childEnvironment({});
    return new PausedHolder(await Child.start({ command: process.execPath, args, env }));
  }

  private constructor(child: Child) {
    this.#child = child;
  }

  /** False when other faults kept it from getting as far as the late write. */
  async pause({ gateway, history, session, signal }: PauseOptions): Promise<boolean> {
    this.#pauses += 1;
    const agent = `${session}.paused${this.#pauses}`;
    const ask = async (operation: Operation, method: string, params: Fields) => {
      const id = history.nextId(agent);
      const { address } = gateway;
      const cause = operation.kind === 'write' ? { cause: id } : {};
      const whole = { agent_id: agent, session_id: session, ...cause, ...params };
      const settle = history.invoke({ agent, epoch: 0, session, operation }, id);
      await this.#child.send({ address, method, params: whole });
      return settle;
    };
    const answered = async () => (await this.#child.receive(ANSWER_MS, signal)) as Answer;
    const { address } = gateway;
    const join = { agent_id: agent, session_id: session };
    await this.#child.send({ address, method: 'session_manager.join', params: join });
    await answered();
    const acquire = { kind: 'acquire', resource: RESOURCE, mode: 'exclusive' } as const;
    const settle = await ask(acquire, 'memory_locker.acquire', LEASE);
    const granted = toOutcome(await answered(), toToken);
    settle(granted);
    const token = granted.kind === 'ok' ? granted.result.token : undefined;
    if (token === undefined) return false;

    process.kill(this.#child.pid, 'SIGSTOP');
    try {
      await delay(2 * LEASE_MS, undefined, { signal });
      if (!(await writeAsAnother(`${agent}.heir`, { gateway, history, session, signal }))) {
        return false;
      }
      const value = `${agent} too late`;
      const write = { kind: 'write', key: 'k0', value, token } as const;
      const late = { update: { k0: value }, lock_token: token };
      const settleLate = await ask(write, 'context_coordinator.update', late);
      process.kill(this.#child.pid, 'SIGCONT');
      settleLate(toOutcome(await answered(), toVersion));
      return true;
    } finally {
      process.kill(this.#child.pid, 'SIGCONT');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}

/** True when it got the lock and wrote under it. */
async function writeAsAnother(agent: string, options: PauseOptions): Promise<boolean> {
  const { gateway, history, session, signal } = options;
  const client = new Client({ agent, open: gateway.open, history, signal });
  try {
    for (let left = MAX_ATTEMPTS; left > 0; left -= 1) {
      await client.ask('session_manager.join', { agent_id: agent, session_id: session });
      if (await writeOnce(client, session)) return true;
    }
    return false;
  } finally {
    client.disconnect();
  }
}

async function writeOnce(client: Client, session: string): Promise<boolean> {
  const granted = await client.perform({
    session,
    operation: { kind: 'acquire', resource: RESOURCE, mode: 'exclusive' },
    method: 'memory_locker.acquire',
    params: LEASE,
    toResult: toToken,
  });
  const token = granted.kind === 'ok' ? granted.result.token : undefined;
  if (token === undefined) return false;
  const value = client.agent;
  const written = await client.perform({
    session,
    operation: { kind: 'write', key: 'k0', value, token },
    method: 'context_coordinator.update',
    params: { update: { k0: value }, lock_token: token },
    toResult: toVersion,
  });
  return written.kind === 'ok';
}
