// One request of an MCP client as the caller that the pipeline knows, whichever lane it came by.

import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import { type GivenInput, givenInputSchema } from '@starloom/core';
import { z } from 'zod';
import type { Caller } from '../pipeline/call-request.ts';
import { META_CONVERSATION, RisingProgress, toProgress } from '../pipeline/respond.ts';
import type { Connection } from './connection.ts';
import { toGivenInputs, toInputRequired } from './input-required.ts';
import { MODERN_REVISION } from './lean-call.ts';
import { declaresTasks, toCreatedTask } from './tasks.ts';

type Params = Readonly<Record<string, unknown>>;

export interface McpRequest {
  /** Name of the tool. */
  readonly tool: string;
  readonly id: string | number | undefined;
  readonly meta: Params;
  /** What the client declared of itself, as the keys of `_meta` that say it. */
  readonly declared: Params;
  readonly protocolVersion?: string | undefined;
  /** Of a request that brings answers. */
  readonly requestState?: unknown;
  readonly inputResponses?: unknown;
  readonly signal: AbortSignal;
  readonly notify?: Caller['notify'];
  /** Sends a notification on the stream of this request. */
  readonly send: (notification: ReturnType<typeof toProgress>) => Promise<void>;
}

const META_INPUTS = 'io.starloom/inputs';

const inputsSchema = z.array(givenInputSchema).max(32);

export function toCaller(request: McpRequest, connection: Connection): Caller {
  const { tool, id, meta, declared, protocolVersion, signal, notify, send } = request;
  const { principal, transport, socket, headers, cut } = connection;
  const { progressToken } = meta;
  const wantsEvents = typeof progressToken === 'string' || typeof progressToken === 'number';
  const capabilities = declared[CLIENT_CAPABILITIES_META_KEY];
  const { id: requestState, last } = readState(request.requestState);
  const rising = new RisingProgress(last);
  return {
    principal,
    transport,
    socket,
    headers,
    meta,
    cut,
    signal,
    tool,
    declared,
    protocolVersion,
    requestId: id,
    request: id === undefined ? undefined : connection.requestOf?.(id),
    conversation: conversationOf(request, requestState),
    ...(notify && { notify }),
    ...(isParams(capabilities) && {
      toInputRequired: (inputs, conversationId) =>
        toInputRequired(inputs, toState(conversationId, rising), capabilities),
    }),
    ...(protocolVersion === MODERN_REVISION &&
      declaresTasks(declared) && { toTask: toCreatedTask }),
    ...(wantsEvents && {
      send: (event, place) => send(toProgress(event, progressToken, rising, place)),
    }),
  };
}

/** The client brings it back with its answers: progress goes on from where it was. */
function toState(conversationId: string, { last }: RisingProgress): string {
  return last === 0 ? conversationId : `${conversationId}~${last}`;
}

function readState(state: unknown): { readonly id: unknown; readonly last?: number } {
  if (typeof state !== 'string') return { id: state };
  const at = state.lastIndexOf('~');
  const last = at === -1 ? 0 : Number(state.slice(at + 1));
  const isOurs = last > 0 && last <= Number.MAX_SAFE_INTEGER;
  return isOurs ? { id: state.slice(0, at), last } : { id: state };
}

/** By the protocol's own fields, or by ours where a client has none. */
function conversationOf({ meta, inputResponses }: McpRequest, requestState: unknown) {
  const id = requestState ?? meta[META_CONVERSATION];
  const inputs = toGivenInputs(inputResponses) ?? inputsIn(meta);
  return { ...(typeof id === 'string' && { id }), ...(inputs && { inputs }) };
}

function inputsIn({ [META_INPUTS]: inputs }: Params): GivenInput[] | undefined {
  return inputs === undefined ? undefined : inputsSchema.safeParse(inputs).data;
}

function isParams(value: unknown): value is Params {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
