// A task that waits for input or for authentication, as questions of ours, and the answers back.
// Another Starloom sends its questions along and gets the answers in the same form; any other agent
// asks in words, and gets words.

import { type Message, type Part, Part as PartJson, TaskState, type TaskStatus } from '@a2a-js/sdk';
import {
  type AgentHandle,
  type InputRequest,
  type InputResponse,
  inputRequestSchema,
  toFields,
} from '@starloom/core';
import { withoutInvisible } from '@starloom/wire';
import { z } from 'zod';
import { META_INPUTS } from '../names.ts';
import { dataPart, textPart } from '../parts.ts';
import { textOf } from './task-fold.ts';

const MAX_MESSAGE = 16_384;
const MAX_NATIVE = 32_768;
/** The id of a question that came in words. */
const ONLY = 'input';

const handleSchema = z.object({
  contextId: z.string().optional(),
  taskId: z.string().min(1).optional(),
  asked: z.enum(['input', 'auth']).optional(),
  own: z.boolean().optional(),
  question: z.string().optional(),
});

/** What is kept of a task between two calls. */
export type TaskHandle = z.infer<typeof handleSchema>;

export function parseHandle(handle: AgentHandle | undefined): TaskHandle {
  return handleSchema.safeParse(handle).data ?? {};
}

interface Asked {
  readonly requests: readonly InputRequest[];
  readonly asked: 'input' | 'auth';
  /** The agent sent questions of ours. */
  readonly own: boolean;
}

export function toQuestions({ state, message }: TaskStatus): Asked {
  const asked = state === TaskState.TASK_STATE_AUTH_REQUIRED ? 'auth' : 'input';
  const own = z.array(inputRequestSchema).min(1).safeParse(message?.metadata?.[META_INPUTS]);
  if (own.success) return { requests: own.data, asked, own: true };
  const said = withoutInvisible(textOf(message).slice(0, MAX_MESSAGE));
  const native = nativeOf(message);
  const more = native === undefined ? {} : { native };
  if (asked === 'input') {
    const text = said === '' ? 'The agent asks for more input' : said;
    return { requests: [{ id: ONLY, kind: 'text', message: text, ...more }], asked, own: false };
  }
  const text = said === '' ? 'The agent asks you to authenticate' : said;
  const url = urlIn(message);
  const request = { id: ONLY, kind: 'auth', message: text, ...(url && { url }), ...more } as const;
  return { requests: [request], asked, own: false };
}

/** The answers as parts of a message; `undefined` when the task is to be given up instead. */
export function toAnswerParts(
  responses: readonly InputResponse[],
  { own, asked }: TaskHandle,
): Part[] | undefined {
  if (own) return responses.map((response) => dataPart({ ...response }));
  const [response] = responses;
  if (!response || response.action === 'cancel') return undefined;
  if (response.action === 'decline') return [textPart('The question was declined.')];
  if (asked === 'auth') return [textPart('The authentication is complete.')];
  const native = nativeParts(response.native);
  return native ?? [toPart(response.content)];
}

function toPart(content: unknown): Part {
  if (typeof content === 'string') return textPart(content);
  const { text } = toFields(content);
  return typeof text === 'string' ? textPart(text) : dataPart(content ?? null);
}

/** An answer that an A2A caller wrote as a message. */
function nativeParts(native: unknown): Part[] | undefined {
  const { parts } = toFields(native);
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  return parts.map((part) => PartJson.fromJSON(toFields(part)));
}

function nativeOf(message: Message | undefined): unknown {
  if (!message) return undefined;
  const native = { parts: message.parts.map((part) => PartJson.toJSON(part)) };
  return JSON.stringify(native).length > MAX_NATIVE ? undefined : native;
}

/** Where a person goes to authenticate, if the agent says it in a way that is no guess. */
function urlIn(message: Message | undefined): string | undefined {
  for (const { content } of message?.parts ?? []) {
    const given = content?.$case === 'data' ? toFields(content.value) : undefined;
    const text = content?.$case === 'url' ? content.value : (given?.url ?? given?.auth_url);
    if (typeof text === 'string' && /^https:\/\//.test(text) && URL.canParse(text)) return text;
  }
  return undefined;
}
