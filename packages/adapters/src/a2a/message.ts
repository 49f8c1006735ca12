// What a call is as a message of A2A: its task as text, its arguments and context as data, its
// attachments as files.

import { randomUUID } from 'node:crypto';
import { type Message, type Part, Role, type SendMessageRequest } from '@a2a-js/sdk';
import { type Attachment, type Envelope, FabricError, toMeta } from '@starloom/core';
import { callerContext } from '../upstream/prompt-text.ts';

/** Names the skill that is meant; A2A itself has no place for it. */
export const SKILL_KEY = 'io.starloom/skill';

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
    metadata: { ...toMeta(trace, hop), [SKILL_KEY]: skill, ...more },
    extensions: [],
    referenceTaskIds: [],
  };
}

/** Without streaming the agent is asked for its task at once, so that it can be cancelled. */
export function toRequest(message: Message, isStreaming: boolean): SendMessageRequest {
  return {
    tenant: '',
    message,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: !isStreaming,
    },
    metadata: undefined,
  };
}

export function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' };
}

export function dataPart(value: unknown): Part {
  const mediaType = 'application/json';
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType };
}

function toParts({ task, arguments: given, context, attachments }: Envelope['input']): Part[] {
  const { task: named, ...rest } = given ?? {};
  const text = task !== '' ? task : typeof named === 'string' ? named : '';
  const data = { ...callerContext(context), ...rest };
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(Object.keys(data).length === 0 ? [] : [dataPart(data)]),
    ...attachments.map(toFilePart),
  ];
  if (parts.length > 0) return parts;
  throw new FabricError('BAD_INPUT', 'The call has nothing to say to the agent', {
    details: { reason: 'empty_message', sent: false, fix: 'give a task, arguments or attachments' },
  });
}

function toFilePart({ name = '', media_type, text, data, uri }: Attachment): Part {
  const about = { metadata: undefined, filename: name, mediaType: media_type };
  if (text !== undefined) return { content: { $case: 'text', value: text }, ...about };
  if (uri !== undefined) return { content: { $case: 'url', value: uri }, ...about };
  return { content: { $case: 'raw', value: Buffer.from(data ?? '', 'base64') }, ...about };
}
