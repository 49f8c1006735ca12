// Another agent that takes tasks: an A2A agent, or an agent behind the gateway. Whatever it answers is
// data of another party: the caller labels it untrusted and never follows it.

import type { Artifact, EventBody, FabricError, Hop, Trace } from '@starloom/core';
import type { ToolContext } from '@starloom/sdk';
import type { Budget } from '../core/budgets.ts';
import { failure } from '../reasons.ts';

export interface Peer {
  /** Of `agent.toml`, or its agent id at the gateway. */
  readonly name: string;
  /**
   * Gives the peer a task and waits for its end. Never rejects: what goes wrong is an outcome. When the
   * signal aborts or the deadline passes, the peer is asked to cancel the task.
   */
  delegate(task: PeerTask, options: DelegateOptions): Promise<PeerOutcome>;
}

export interface PeerDescription {
  readonly description: string;
  readonly version: string;
  readonly skills: readonly { readonly id: string; readonly description: string }[];
}

export interface PeerTask {
  /** What the peer is asked, in words. */
  readonly text: string;
  /** One of the skills of the peer; absent: its only one, or the peer decides. */
  readonly skill?: string | undefined;
  /** `task` of an earlier outcome: goes on with that task, whose question `text` answers. */
  readonly resume?: string | undefined;
}

export interface DelegateOptions {
  readonly signal: AbortSignal;
  /** Of the call that delegates. The peer's call is one hop deeper. */
  readonly trace: Trace;
  readonly hop: Hop;
  /** Milliseconds that the peer has. */
  readonly deadlineMs?: number | undefined;
  /** What the peer may use; it travels with the task. */
  readonly budget?: Budget | undefined;
  readonly mandate?: string | undefined;
  /** What the peer says while it works: tokens, progress, artifacts. Must not throw. */
  readonly onEvent?: ((event: EventBody) => void) | undefined;
}

export type PeerOutcome = {
  readonly peer: string;
  /** Names the task for `resume`; absent where the peer keeps none. */
  readonly task?: string | undefined;
} & (
  | {
      readonly status: 'completed';
      readonly text: string;
      readonly data?: unknown;
      /** Files and documents that the peer made. */
      readonly artifacts: readonly Artifact[];
    }
  | { readonly status: 'asking'; readonly question: string }
  | { readonly status: 'failed'; readonly error: FabricError }
);

/** How a tool gives a task to a peer, within what its call may use. */
export function toDelegateOptions(context: ToolContext, budget: Budget): DelegateOptions {
  const { signal, trace, hop, mandate, progress } = context;
  return {
    ...{ signal, mandate, budget },
    trace: { ...trace, parent_span_id: null },
    hop: { depth: hop.depth, chain: [...hop.chain] },
    deadlineMs: budget.seconds === undefined ? undefined : budget.seconds * 1_000,
    onEvent: ({ type, data }) => {
      if (type === 'progress') progress(data.message ?? '', data.percent);
    },
  };
}

/** What a tool returns of the answer of a peer. Throws when there is none, also when the peer asks. */
export function toPeerOutput(outcome: PeerOutcome): string {
  if (outcome.status === 'failed') throw outcome.error;
  if (outcome.status === 'asking') {
    const { peer: to, question, task } = outcome;
    const fix = task && `answer it by peers:resume with the task "${task}"`;
    throw failure('helper_asks', { to, question, fix });
  }
  const { text, data, artifacts } = outcome;
  const more = data === undefined ? [] : [JSON.stringify(data, null, 2)];
  const files = artifacts.map(
    ({ id, name = id, media_type, text: words, uri = '' }) =>
      `[${name} (${media_type})]\n${words ?? uri}`,
  );
  return [text, ...more, ...files].filter((part) => part !== '').join('\n\n');
}
