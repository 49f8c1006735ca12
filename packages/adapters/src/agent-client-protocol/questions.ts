// What an agent asks in the middle of a turn: permission to use a tool, and questions for people.

import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { type InputRequest, type InputResponse, toFields } from '@starloom/core';
import { cleanText } from '@starloom/wire';

const MAX_MESSAGE = 2_000;
const MAX_LABEL = 200;

export const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

export function toPermissionQuestion(
  id: string,
  { toolCall, options }: RequestPermissionRequest,
): InputRequest {
  const what = cleanText(toolCall.title ?? toolCall.name, MAX_MESSAGE) || 'a tool';
  const input = toolCall.rawInput === undefined ? '' : JSON.stringify(toolCall.rawInput);
  const details = cleanText(input, MAX_MESSAGE);
  return {
    id,
    kind: 'choice',
    message: `The agent asks for permission: ${what}${details ? `\n${details}` : ''}`,
    options: options.map(({ optionId, name, kind }) => ({
      id: optionId,
      label: cleanText(name, MAX_LABEL) || kind,
      kind,
    })),
  };
}

/** A choice that the agent did not offer counts as none. */
export function toPermission(
  response: InputResponse | undefined,
  options: readonly PermissionOption[],
): RequestPermissionResponse {
  if (response?.action === 'decline') return decide('deny', options);
  if (response?.action !== 'accept') return CANCELLED;
  const { choice } = toFields(response.content);
  const chosen = options.find(({ optionId }) => optionId === choice);
  return chosen ? selected(chosen) : CANCELLED;
}

/** The answer of a policy; once rather than for ever, where the agent offers both. */
export function decide(
  policy: 'allow' | 'deny',
  options: readonly PermissionOption[],
): RequestPermissionResponse {
  const kinds = policy === 'allow' ? ALLOWING : REJECTING;
  const [chosen] = kinds.flatMap((kind) => options.filter((option) => option.kind === kind));
  return chosen ? selected(chosen) : CANCELLED;
}

/** `undefined` for a question of a kind that is not known here. */
export function toElicitedQuestion(
  id: string,
  request: CreateElicitationRequest,
): InputRequest | undefined {
  const { mode, requestedSchema, url } = toFields(request);
  const message = cleanText(request.message, MAX_MESSAGE) ?? '';
  if (mode === 'form') return { id, kind: 'form', message, schema: toFields(requestedSchema) };
  if (mode === 'url' && typeof url === 'string') return { id, kind: 'url', message, url };
  return undefined;
}

export function toElicited(response: InputResponse | undefined): CreateElicitationResponse {
  if (response?.action === 'accept') {
    const content = toFields(response.content);
    return { action: 'accept', content } as CreateElicitationResponse;
  }
  return { action: response?.action ?? 'cancel' };
}

const ALLOWING = ['allow_once', 'allow_always'] as const;
const REJECTING = ['reject_once', 'reject_always'] as const;

function selected({ optionId }: PermissionOption): RequestPermissionResponse {
  return { outcome: { outcome: 'selected', optionId } };
}
