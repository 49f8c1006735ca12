// An error that the agent itself reported, as ours. Its code is kept where it means the same to our
// caller; its words go to `details.upstream`, never to `message`, and its details never become
// ours: `sent: false` in them would let a call with side effects run twice.

import {
  type ErrorCode,
  type ErrorDetails,
  exceedsDepth,
  FabricError,
  type Fields,
  isErrorCode,
  toFields,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';

const MESSAGES = {
  BAD_INPUT: 'The agent refused the input',
  AUTH_DENIED: 'The agent did not accept our credentials',
  POLICY_DENIED: 'The agent does not allow this call',
  CAPABILITY_NOT_FOUND: 'The agent does not have the capability',
  AGENT_OFFLINE: 'The agent reported that what it needs is offline',
  TIMEOUT: 'The agent ran out of time',
  UPSTREAM_ERROR: 'The agent failed',
  RECURSION_LIMIT: 'The agent reported that the calls nest too deep',
  RATE_LIMITED: 'The agent takes no more calls for now',
  OVERLOADED: 'The agent has too much to do',
} satisfies Partial<Record<ErrorCode, string>>;

type AgentErrorCode = keyof typeof MESSAGES;

/** `error` is `{code, message, details}` of an error payload, as far as the agent kept to it. */
export function reportedError(error: unknown, excerpt: Excerpt): FabricError {
  const { code, message, details } = toFields(error);
  const known = isAgentErrorCode(code) ? code : 'UPSTREAM_ERROR';
  return new FabricError(known, MESSAGES[known], {
    details: {
      upstream: {
        ...(typeof code === 'string' ? { code: excerpt(code) } : {}),
        ...(typeof message === 'string' ? { message: excerpt(message) } : {}),
        ...(isShowable(details) ? { details: excerpt(JSON.stringify(details)) } : {}),
      },
      ...retryAfter(toFields(details).retry_after_ms),
    },
  });
}

/** What an agent says of its failure in its own protocol, for `details.upstream`. */
export function toUpstreamError({ code, message }: Fields, excerpt: Excerpt): ErrorDetails {
  const kind = typeof code === 'string' || typeof code === 'number' ? String(code) : '';
  const said = typeof message === 'string' ? excerpt(message) : '';
  return {
    ...(kind !== '' && { code: excerpt(kind) }),
    message: said || 'The agent gave no reason',
  };
}

/** Whether a JSON answer is an error payload. */
export function isErrorPayload(value: unknown): value is { readonly error: object } {
  const { ok, error } = toFields(value);
  return typeof error === 'object' && error !== null && (ok === false || isErrorShape(error));
}

function isShowable(details: unknown): boolean {
  return Object.keys(toFields(details)).length > 0 && !exceedsDepth(details);
}

function isErrorShape(error: object): boolean {
  return 'code' in error && isErrorCode(error.code);
}

function isAgentErrorCode(code: unknown): code is AgentErrorCode {
  return typeof code === 'string' && Object.hasOwn(MESSAGES, code);
}

function retryAfter(value: unknown): ErrorDetails {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? { retry_after_ms: value } : {};
}
