// What a call says to the agent: one message of a user, with a part for each thing the caller gave.

import {
  type Attachment,
  type Envelope,
  type InputRequest,
  type InputResponse,
  isObject,
  readTask,
  toFields,
  tryParseJson,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { Part, Run } from './protocol.ts';

interface SentPart {
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
  const { text, rest } = readTask(input);
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(Object.keys(rest).length === 0 ? [] : [jsonPart(rest)]),
    ...input.attachments.map(toPart),
  ];
  return { role: 'user', parts: parts.length === 0 ? [textPart('')] : parts };
}

function textPart(content: string): SentPart {
  return { content_type: 'text/plain', content };
}

function jsonPart(value: unknown): SentPart {
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

const MAX_MESSAGE = 16_384;
const FORM = 'application/schema+json';

/**
 * What a run asks while it awaits, and the answer that resumes it. The protocol has one message
 * each way. A part of type `application/schema+json` in the question makes it a form, answered in
 * JSON. The id says how many questions the run asked before: the protocol numbers none.
 */
export function toQuestion({ await_request }: Run, index: number): InputRequest {
  const parts = await_request?.message?.parts ?? [];
  const text = parts.filter((part) => !isForm(part)).map(({ content }) => content ?? '');
  const message = cleanText(text.join(''), MAX_MESSAGE) || 'The agent waits for input';
  const id = `await-${index}`;
  const schema = schemaIn(parts);
  const native = { await_request };
  return schema
    ? { id, kind: 'form', message, schema, native }
    : { id, kind: 'text', message, native };
}

/** The protocol has no form for a refusal, so it is sent as JSON. */
export function toResume(response: InputResponse | undefined): SentMessage {
  const { action = 'cancel', content } = response ?? {};
  if (action !== 'accept') return { role: 'user', parts: [jsonPart({ action })] };
  const { text } = toFields(content);
  const isText = typeof text === 'string' && Object.keys(toFields(content)).length === 1;
  return { role: 'user', parts: [isText ? textPart(text) : jsonPart(content ?? {})] };
}

function isForm({ content_type }: Part): boolean {
  return content_type === FORM;
}

function schemaIn(parts: readonly Part[]): Record<string, unknown> | undefined {
  const text = parts.find(isForm)?.content;
  if (typeof text !== 'string' || text.length > MAX_MESSAGE) return undefined;
  const schema = tryParseJson(text);
  return isObject(schema) ? schema : undefined;
}
