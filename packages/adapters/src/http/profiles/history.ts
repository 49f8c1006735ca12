// Conversations with agents that keep none: the last messages travel in the handle.

import type { AgentHandle } from '@starloom/core';
import { z } from 'zod';

export interface HistoryMessage {
  readonly role: string;
  readonly content: unknown;
}

export const historyShape = {
  history_bytes: z
    .int()
    .min(0)
    .max(65_536)
    .default(0)
    .describe('How much history conversation_id carries; 0: the agent keeps it, or there is none'),
};

const messagesSchema = z.array(
  z.object({ role: z.enum(['user', 'assistant']), content: z.unknown() }),
);

export function messagesIn(handle: AgentHandle | undefined): readonly HistoryMessage[] {
  const parsed = messagesSchema.safeParse(handle?.messages);
  return parsed.success ? parsed.data.map(({ role, content }) => ({ role, content })) : [];
}

/** The last messages that fit; whole turns, of a question and its answer, are dropped. */
export function lastMessages(
  messages: readonly HistoryMessage[],
  bytes: number,
): readonly HistoryMessage[] {
  let kept = messages;
  while (kept.length > 0 && Buffer.byteLength(JSON.stringify(kept)) > bytes) kept = kept.slice(2);
  return kept;
}
