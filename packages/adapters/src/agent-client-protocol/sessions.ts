// A session of the agent, which is a conversation of one caller. Its prompts run one after the other.

import { randomUUID } from 'node:crypto';
import type { AgentHandle, FabricError } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import type { PromptTurn } from './prompt-turn.ts';

interface RunningTurn {
  readonly turn: PromptTurn;
  /** Resolves when the agent answered the prompt, or its process ended. */
  readonly ended: Promise<void>;
}

export class EditorSession {
  readonly id: string;
  /** Updates and requests of the agent belong to it. */
  running: RunningTurn | undefined;
  #last: Promise<void> = Promise.resolve();
  #turns = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** No prompt runs or waits. */
  get isIdle(): boolean {
    return this.#turns === 0;
  }

  /** Resolves when the turns before are over, with what ends this one. */
  async takeTurn(): Promise<() => void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    this.#turns += 1;
    let isOver = false;
    await before;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#turns -= 1;
      turn.resolve();
    };
  }
}

const handleSchema = z.object({ session_id: z.string(), process: z.string(), gateway: z.string() });

/**
 * What is kept of a session between calls. Sessions of most agents outlive their process; of the
 * others the conversation lives in one process of one gateway, and the handle says which.
 */
export type SessionHandle = z.infer<typeof handleSchema>;

/** Of this run of the gateway. */
const GATEWAY = randomUUID();

export function toHandle(sessionId: string, processId: string): AgentHandle {
  return { session_id: sessionId, process: processId, gateway: GATEWAY };
}

export function parseHandle(handle: AgentHandle): SessionHandle {
  const parsed = handleSchema.safeParse(handle);
  if (parsed.success) return parsed.data;
  throw failure('unknown_conversation');
}

/** The agent cannot take the session up again, and its process is not here. */
export function lostSession({ gateway }: SessionHandle): FabricError {
  return failure(gateway === GATEWAY ? 'interrupted' : 'other_gateway');
}

/** The agent keeps sessions, and refused this one: gone, or kept on another machine. */
export function refusedSession(handle: SessionHandle, error: FabricError): FabricError {
  if (error.code !== 'BAD_INPUT' && error.code !== 'UPSTREAM_ERROR') return error;
  if (handle.gateway !== GATEWAY) return lostSession(handle);
  return failure('unknown_conversation', { upstream: error.details.upstream }, { cause: error });
}
