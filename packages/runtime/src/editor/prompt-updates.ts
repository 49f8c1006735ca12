// One prompt as its editor follows it: updates in the order in which things happened, and why it ended.

import {
  type AgentContext,
  methods,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import type { FabricError } from '@starloom/core';
import type { ContentSegment, FinishReason } from '@starloom/sdk';
import type { AgentEvent } from '../core/events.ts';
import { said, type ToolView, toUpdate } from './to-update.ts';

const STOPPED_BY: Partial<Record<FinishReason, StopReason>> = {
  length: 'max_tokens',
  content_filter: 'refusal',
};
const STOPPED_BY_BUDGET: Readonly<Record<string, StopReason>> = {
  steps: 'max_turn_requests',
  tokens: 'max_tokens',
};

export class PromptUpdates {
  readonly #client: AgentContext;
  readonly #sessionId: string;
  readonly #view: ToolView;
  #finish: FinishReason | undefined;
  /** Ends when all that was said has left. */
  #sent: Promise<void> = Promise.resolve();

  constructor(client: AgentContext, sessionId: string, view: ToolView) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#view = view;
  }

  readonly note = (event: AgentEvent): void => {
    if (event.type === 'STREAM:STEP') this.#finish = event.data.metadata.finishReason;
    this.send(toUpdate(event, this.#view));
  };

  say(segments: readonly ContentSegment[]): void {
    for (const segment of segments) this.send(said(segment));
  }

  send(update: SessionUpdate | undefined): void {
    if (!update) return;
    const { update: method } = methods.client.session;
    const sent = this.#client.notify(method, { sessionId: this.#sessionId, update });
    // An editor that is gone is noticed by the connection.
    this.#sent = Promise.all([this.#sent, sent.catch(() => {})]).then(() => {});
  }

  /** The answer to the prompt comes after the last of them. */
  async sent(): Promise<void> {
    await this.#sent;
  }

  get stopReason(): StopReason {
    return STOPPED_BY[this.#finish ?? 'stop'] ?? 'end_turn';
  }

  /** Of a turn that ended early in a way that the protocol has a word for. */
  static stoppedBy({ code, details }: FabricError): StopReason | undefined {
    if (code === 'CANCELLED') return 'cancelled';
    if (details.reason !== 'budget') return undefined;
    return STOPPED_BY_BUDGET[String(details.budget)] ?? 'max_turn_requests';
  }
}
