// Between a call and a chat with Agent Zero, whichever interface carries it.

import { type AgentHandle, type Envelope, FabricError, TOOL_ERROR } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { splitTask } from '../upstream/prompt-text.ts';

const MAX_REASON = 2_000;

/** It reads text alone: what else the caller gave is written below the task. */
export function messageOf(input: Envelope['input']): string {
  const { text, rest } = splitTask(input);
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
  return new FabricError('UPSTREAM_ERROR', 'Agent Zero answered with an error', {
    details: {
      reason: TOOL_ERROR,
      upstream: cleanText(reason, MAX_REASON) || 'The agent gave no reason',
      fix: 'see details.upstream',
    },
  });
}

export function noChat(): FabricError {
  return new FabricError('BAD_INPUT', 'Agent Zero no longer has this chat', {
    details: { reason: 'unknown_conversation', fix: 'call without conversation_id' },
  });
}

export function unsupportedAttachments(takes: string): FabricError {
  return new FabricError('BAD_INPUT', `This interface takes attachments with ${takes} alone`, {
    details: {
      reason: 'attachments_unsupported',
      sent: false,
      fix: 'set options.lane of the agent to http for files, to mcp or a2a for addresses',
    },
  });
}

export function badAnswer(what: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'Agent Zero answered in an unknown form', {
    details: { reason: 'bad_result', problem: what, fix: 'check the version of the agent' },
  });
}
