// What a call is as a message of A2A: its task as text, its arguments and context as data, its
// attachments as files.

import { randomUUID } from 'node:crypto';
import { type Message, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import { type Envelope, type Fields, readTask, toMeta } from '@starloom/core';
import { META_BUDGET, META_SKILL } from '../names.ts';
import { dataPart, filePart, textPart } from '../parts.ts';
import { failure } from '../reasons.ts';

export interface MessagePlace {
  readonly contextId?: string | undefined;
  readonly taskId?: string | undefined;
}

export function toMessage(
  { input, trace, hop }: Envelope,
  skill: string,
  { contextId = '', taskId = '' }: MessagePlace,
  parts: Part[] = toParts(input),
  more: Record<string, unknown> = {},
): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts,
    metadata: {
      ...toMeta(trace, hop),
      ...budgetOf(input),
      ...(skill !== '' && { [META_SKILL]: skill }),
      ...more,
    },
    extensions: [],
    referenceTaskIds: [],
  };
}

/** Under our own name, so it is no part of what the agent is asked. */
function budgetOf({ context }: Envelope['input']): Fields {
  return context[META_BUDGET] === undefined ? {} : { [META_BUDGET]: context[META_BUDGET] };
}

/** Without streaming the agent is asked for its task at once, so that it can be cancelled. */
export function toRequest(
  message: Message,
  isStreaming: boolean,
  accepts: readonly string[],
): SendMessageRequest {
  return {
    tenant: '',
    message,
    configuration: {
      acceptedOutputModes: [...accepts],
      taskPushNotificationConfig: undefined,
      returnImmediately: !isStreaming,
    },
    metadata: undefined,
  };
}

function toParts(input: Envelope['input']): Part[] {
  const { text, rest } = readTask(input);
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(Object.keys(rest).length === 0 ? [] : [dataPart(rest)]),
    ...input.attachments.map((file) => filePart(file, file.media_type, file.name)),
  ];
  if (parts.length > 0) return parts;
  throw failure('empty_message');
}
