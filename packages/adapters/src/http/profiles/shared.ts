// What the ready profiles have in common: the capability `ask`, the headers of a call, and errors.

import {
  type CallContext,
  type Capability,
  capabilitySchema,
  type EventBody,
  FabricError,
  TOOL_ERROR,
} from '@starloom/core';
import { callHeaders } from '../../upstream/call-headers.ts';
import { readEvent } from '../../upstream/read-event.ts';
import type { RequestContext } from '../json-values.ts';
import type { ProfileCall } from '../profile.ts';

/** What an agent that is talked to offers where its manifest names no capabilities. */
export const ASK: Capability = capabilitySchema.parse({
  name: 'ask',
  streaming: true,
  description: 'Asks the agent, in words',
  input_schema: {
    type: 'object',
    properties: { task: { type: 'string', description: 'What the agent is asked, in words' } },
    required: ['task'],
  },
});

export function headersOf({ envelope, context }: ProfileCall): Record<string, string> {
  return callHeaders(envelope, context);
}

export function requestsOf({ context, names }: ProfileCall): RequestContext {
  return { signal: context.signal, log: context.log, names };
}

export function agentError(
  message: string,
  upstream: Readonly<Record<string, unknown>>,
  reason: string = TOOL_ERROR,
): FabricError {
  return new FabricError('UPSTREAM_ERROR', message, {
    details: { reason, upstream, fix: 'see details.upstream' },
  });
}

export function badAnswer(message: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', message, {
    details: { reason: 'bad_result', fix: 'check endpoint.uri and options.profile of the agent' },
  });
}

/** An event that must be right; UPSTREAM_ERROR when it is not. */
export function eventOf(type: 'tool_call' | 'final', data: object): EventBody {
  const body = readEvent(type, data);
  if (body) return body;
  throw badAnswer(`The agent sent a malformed ${type}`);
}

/** What an earlier call kept, when it is a text that can be an id. */
export function keptId({ handle }: CallContext, name: string): string | undefined {
  const id = handle?.[name];
  return typeof id === 'string' && id !== '' && id.length <= 512 ? id : undefined;
}
