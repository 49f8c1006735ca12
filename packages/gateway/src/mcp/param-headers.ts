// Arguments that a tool wants mirrored in headers (`x-mcp-header`, revision 2026-07-28). A proxy
// between client and gateway may have acted on the header, so it must say what the agent will get.

import type { IncomingHttpHeaders } from 'node:http';
import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import {
  findParamHeaders,
  type ParamHeader,
  toParamHeaders,
} from '@starloom/mcp-client/param-headers';
import type { GatewayTools } from '../tools/catalog.ts';

const HEADER_MISMATCH = -32_020;
const TASK_METHODS: readonly unknown[] = ['tasks/get', 'tasks/update', 'tasks/cancel'];

interface ToolCall {
  readonly method?: unknown;
  readonly params?: {
    readonly name?: unknown;
    readonly taskId?: unknown;
    readonly arguments?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/** By the schema that declares them. */
const declarations = new WeakMap<object, readonly ParamHeader[]>();

/** Throws BAD_INPUT for a call whose headers and arguments disagree. */
export function assertParamHeaders(
  catalog: Pick<GatewayTools, 'find'>,
  body: unknown,
  headers: IncomingHttpHeaders,
  principal: Principal,
): void {
  const { method, params } = (body ?? {}) as ToolCall;
  if (TASK_METHODS.includes(method)) assertTaskName(params?.taskId, headers);
  if (method !== 'tools/call' || typeof params?.name !== 'string') return;
  const isOlder = params._meta?.[PROTOCOL_VERSION_META_KEY] === undefined;
  const schema = isOlder ? undefined : catalog.find(params.name, principal)?.definition.inputSchema;
  if (!schema) return;
  const declared = declaredIn(schema);
  if (declared.length === 0) return;
  const mirrored = toParamHeaders(declared, params.arguments);
  for (const [name, value] of Object.entries(mirrored)) {
    const given = headers[name];
    if (typeof given !== 'string' || decoded(given) !== decoded(value)) throw mismatch(name);
  }
}

/** Requests about a task name it in `Mcp-Name`, as calls name their tool. */
function assertTaskName(taskId: unknown, headers: IncomingHttpHeaders): void {
  const given = headers['mcp-name'];
  if (typeof taskId !== 'string') return;
  if (typeof given === 'string' && decoded(given) === taskId) return;
  throw new FabricError('BAD_INPUT', 'The header Mcp-Name does not name the task', {
    details: {
      reason: 'header_mismatch',
      header: 'mcp-name',
      rpc_code: HEADER_MISMATCH,
      fix: 'Send the task id in the header Mcp-Name',
    },
  });
}

function declaredIn(schema: object): readonly ParamHeader[] {
  const known = declarations.get(schema);
  if (known) return known;
  const found = findParamHeaders(schema) ?? [];
  declarations.set(schema, found);
  return found;
}

/** `undefined` for what claims to be base64 and is not. */
function decoded(value: string): string | undefined {
  const [, data] = /^=\?base64\?(.*)\?=$/s.exec(value) ?? [];
  if (data === undefined) return value;
  const bytes = Buffer.from(data, 'base64');
  return bytes.toString('base64') === data ? bytes.toString('utf8') : undefined;
}

function mismatch(header: string): FabricError {
  return new FabricError('BAD_INPUT', `The header ${header} does not say what the arguments say`, {
    details: {
      reason: 'header_mismatch',
      header,
      rpc_code: HEADER_MISMATCH,
      fix: 'mirror the argument in the header, as the input schema of the tool asks',
    },
  });
}
