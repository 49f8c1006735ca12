// Between a call and a chat with Agent Zero, whichever interface carries it.

import { type AgentHandle, type Envelope, type FabricError, readTask } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { failure } from '../reasons.ts';

const MAX_REASON = 2_000;

/** It reads text alone: what else the caller gave is written below the task. */
export function messageOf(input: Envelope['input']): string {
  const { text, rest } = readTask(input);
  if (Object.keys(rest).length === 0) return text;
  return [text, JSON.stringify(rest, null, 2)].filter(Boolean).join('\n\n');
}

/** The chat that an earlier call of the conversation kept. */
export function chatOf(handle: AgentHandle | undefined): string | undefined {
  const chat = handle?.chat;
  return typeof chat === 'string' && /^[\w-]{1,128}$/.test(chat) ? chat : undefined;
}

/** An error that the agent answered with as if it were a success. */
export function chatFailure(reason: string | undefined): FabricError {
  const upstream = cleanText(reason, MAX_REASON) || 'The agent gave no reason';
  return failure('tool_error/zero', { upstream });
}

export function badAnswer(problem: string): FabricError {
  return failure('bad_result/agent_zero', { problem });
}
