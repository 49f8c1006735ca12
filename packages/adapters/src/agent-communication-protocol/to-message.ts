// What a call says to the agent: one message of a user, with a part for each thing the caller gave.

import type { Attachment, Envelope } from '@starloom/core';
import { splitTask } from '../upstream/prompt-text.ts';

export interface SentPart {
  readonly name?: string;
  readonly content_type: string;
  readonly content?: string;
  readonly content_encoding?: 'plain' | 'base64';
  readonly content_url?: string;
}

export interface SentMessage {
  readonly role: 'user';
  readonly parts: readonly SentPart[];
}

export function toMessage(input: Envelope['input']): SentMessage {
  const { text, rest } = splitTask(input);
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(Object.keys(rest).length === 0 ? [] : [jsonPart(rest)]),
    ...input.attachments.map(toPart),
  ];
  return { role: 'user', parts: parts.length === 0 ? [textPart('')] : parts };
}

export function textPart(content: string): SentPart {
  return { content_type: 'text/plain', content };
}

export function jsonPart(value: unknown): SentPart {
  return { content_type: 'application/json', content: JSON.stringify(value) };
}

function toPart({ name, media_type, data, text, uri }: Attachment): SentPart {
  return {
    ...(name !== undefined && { name }),
    content_type: media_type,
    ...(text !== undefined && { content: text }),
    ...(text === undefined && data !== undefined
      ? { content: data, content_encoding: 'base64' as const }
      : {}),
    ...(text === undefined && data === undefined && uri !== undefined ? { content_url: uri } : {}),
  };
}
