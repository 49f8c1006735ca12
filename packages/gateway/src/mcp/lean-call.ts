// Which requests the lean lane serves: `tools/call` over HTTP with everything right, in the current
// revision and in older ones. Whatever is not plainly right is left to the SDK, and so is what wants
// more than a call.

import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isObject } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { GatewayTools } from '../tools/catalog.ts';
import type { Tool } from '../tools/tool.ts';

type Params = Record<string, unknown>;

export interface LeanCall {
  readonly id: string | number;
  readonly tool: Tool;
  readonly name: string;
  readonly args: unknown;
  readonly meta: Params;
  readonly era: 'modern' | 'legacy';
}

export const MODERN_REVISION = '2026-07-28';
const PARAMS = new Set(['name', 'arguments', '_meta']);
export const OLDER_REVISIONS: ReadonlySet<unknown> = new Set(SUPPORTED_PROTOCOL_VERSIONS);
/** Of `_meta`: only the current revision knows them. */
const RESERVED = 'io.modelcontextprotocol/';
const NO_META: Params = Object.freeze({});

/** The call, when the request is one for this lane. */
export function readLeanCall(
  body: unknown,
  headers: IncomingHttpHeaders,
  catalog: Pick<GatewayTools, 'find'>,
  principal: Principal,
): LeanCall | undefined {
  if (!isObject(body) || body.method !== 'tools/call' || !isObject(body.params)) return undefined;
  const { id, params } = body;
  const { name, arguments: args, _meta: meta = NO_META } = params;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (typeof name !== 'string' || !isObject(meta) || !hasOnly(params, PARAMS)) return undefined;
  if (args !== undefined && !isObject(args)) return undefined;
  if (!acceptsBoth(headers)) return undefined;
  const isModern = headers['mcp-protocol-version'] === MODERN_REVISION;
  if (!(isModern ? isPlain(headers, name, meta) : isPlainOlder(headers, meta))) return undefined;
  const tool = catalog.find(name, principal);
  return tool && { id, tool, name, args, meta, era: isModern ? 'modern' : 'legacy' };
}

export function acceptsBoth({ accept = '' }: IncomingHttpHeaders): boolean {
  return accept.includes('application/json') && accept.includes('text/event-stream');
}

/** Header and body say the same; it says who it is and what it can, and wants no log messages. */
function isPlain(headers: IncomingHttpHeaders, name: string, meta: Params): boolean {
  const info = meta[CLIENT_INFO_META_KEY];
  return (
    meta[PROTOCOL_VERSION_META_KEY] === MODERN_REVISION &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name &&
    isObject(info) &&
    typeof info.name === 'string' &&
    typeof info.version === 'string' &&
    isObject(meta[CLIENT_CAPABILITIES_META_KEY]) &&
    meta[LOG_LEVEL_META_KEY] === undefined
  );
}

/** Without a header it is 2025-03-26. */
function isPlainOlder(headers: IncomingHttpHeaders, meta: Params): boolean {
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && !OLDER_REVISIONS.has(version)) return false;
  const { progressToken: token } = meta;
  if (token !== undefined && typeof token !== 'string' && !Number.isInteger(token)) return false;
  return !Object.keys(meta).some((key) => key.startsWith(RESERVED));
}

function hasOnly(value: Params, keys: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => keys.has(key));
}
