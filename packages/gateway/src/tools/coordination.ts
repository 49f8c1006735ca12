// Sessions, shared context, locks and buffers as tools, from the table of coordination methods: a
// plain MCP client takes part in a session like any other agent.

import { type Coordination, describeMethods, type MethodDescription } from '@starloom/coordination';
import { FabricError, isErrorCode } from '@starloom/core';
import { mayUseToolset } from '@starloom/identity';
import type { Caller } from '../pipeline/call-request.ts';
import type { CallLimits } from '../pipeline/limits.ts';
import { answerTrace } from '../pipeline/origin.ts';
import { toErrorResult, toResult } from '../pipeline/respond.ts';
import type { Tool, ToolDefinition } from './tool.ts';

/** The services that are tools, by the first part of a tool's name. */
const PREFIXES: Readonly<Record<string, string>> = {
  session_manager: 'session',
  context_coordinator: 'context',
  memory_locker: 'lock',
  shared_buffer: 'buffer',
};

/** Only a connection on which things are pushed can use these. */
const NEED_PUSH = new Set(['context_coordinator.subscribe', 'context_coordinator.unsubscribe']);

export function coordinationTools(
  coordination: Coordination,
  limits: Pick<CallLimits, 'messages'>,
): Tool[] {
  return describeMethods()
    .filter(({ name, service }) => service in PREFIXES && !NEED_PUSH.has(name))
    .map((method) => toTool(method, coordination, limits));
}

function toTool(
  method: MethodDescription,
  coordination: Coordination,
  limits: Pick<CallLimits, 'messages'>,
): Tool {
  const { name, service, summary, effect } = method;
  const readOnlyHint = effect === 'read';
  let inputSchema: ToolDefinition['inputSchema'] | undefined;
  return {
    definition: {
      name: `${PREFIXES[service]}${name.slice(service.length)}`,
      description: summary,
      get inputSchema() {
        inputSchema ??= { type: 'object', ...method.params };
        return inputSchema;
      },
      annotations: { readOnlyHint, openWorldHint: false, destructiveHint: !readOnlyHint },
    },
    mayUse: (principal) => mayUseToolset(principal, 'coordination'),
    async run(args, caller) {
      const { principal, signal } = caller;
      signal.throwIfAborted();
      limits.messages(principal, 1);
      const peer = coordination.connect({ principal, livesByUse: true });
      const leave = () => void peer.close();
      signal.addEventListener('abort', leave, { once: true });
      try {
        return toToolResult(await ask(peer, name, args, caller), caller);
      } finally {
        signal.removeEventListener('abort', leave);
        await peer.close();
      }
    },
  };
}

type CoordinationPeer = ReturnType<Coordination['connect']>;

async function ask(
  peer: CoordinationPeer,
  method: string,
  args: unknown,
  caller: Caller,
): Promise<unknown> {
  const { trace_id } = answerTrace(caller);
  const params = typeof args === 'object' && args !== null ? { trace_id, ...args } : args;
  return await peer.handle({ jsonrpc: '2.0', id: 1, method, params: params ?? {} });
}

function toToolResult(answer: unknown, caller: Caller) {
  const { result, error } = answer as RpcAnswer;
  if (!error) return toResult({ ok: true, ...result }, answerTrace(caller));
  const { details: message, code, fix, ...details } = error.data;
  const failure = new FabricError(isErrorCode(code) ? code : 'BAD_INPUT', message, {
    details: {
      ...details,
      ...(fix !== undefined && { fix: toToolNames(fix) }),
      rpc_code: error.code,
    },
  });
  caller.request?.fail(failure);
  return toErrorResult(failure.toPayload(answerTrace(caller)));
}

/** Advice names methods; here they are tools. */
function toToolNames(fix: string): string {
  return Object.entries(PREFIXES).reduce(
    (text, [service, prefix]) => text.replaceAll(`${service}.`, `${prefix}.`),
    fix,
  );
}

interface RpcAnswer {
  readonly result?: Record<string, unknown>;
  readonly error?: {
    readonly code: number;
    readonly data: {
      readonly details: string;
      readonly fix?: string;
      readonly [field: string]: unknown;
    };
  };
}
