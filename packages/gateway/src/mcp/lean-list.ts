// The lean lane of `tools/list` in the current revision: the stored list of the catalog is the answer.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { isObject } from '@starloom/core';
import { atTurnEnd } from '@starloom/wire';
import type { ToolResult } from '../pipeline/respond.ts';
import type { Connection } from './connection.ts';
import { acceptsBoth, hasOnly, isPlain, toWire } from './lean-lane.ts';
import type { McpFace } from './server-factory.ts';
import { MODERN_REVISION } from './to-caller.ts';
import { nameStyleFor } from './tool-listing.ts';

const NO_RESULT = Object.freeze({}) as ToolResult;

/** A `tools/list` of the current revision that asks for nothing more. */
interface LeanListMessage {
  readonly id: string | number;
  readonly params: {
    readonly _meta: { readonly [CLIENT_INFO_META_KEY]: { readonly name: string } };
  };
}

const LIST_PARAMS = new Set(['_meta']);
const LIST_META = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
]);

/** All tools in one page: their stored JSON is written as it is. */
export async function serveLeanList(
  { id, params }: LeanListMessage,
  response: ServerResponse,
  { toolNames, toolsets, principal }: Connection,
  face: McpFace,
): Promise<void> {
  await face.discovery.firstAnswers();
  const style = nameStyleFor(toolNames, params._meta[CLIENT_INFO_META_KEY].name);
  const tools = face.catalog.listJson(style, toolsets, principal);
  const rest = { ttlMs: 0, cacheScope: 'private', ...toWire(NO_RESULT, true, face) };
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":`;
  const tail = `,${JSON.stringify(rest).slice(1)}}`;
  const parts = typeof tools === 'string' ? [head + tools + tail] : [head, tools, tail];
  const length = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  atTurnEnd(() => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    const last = parts.pop();
    for (const part of parts) response.write(part);
    response.end(last);
  });
}

export function isLeanList(
  body: unknown,
  headers: IncomingHttpHeaders,
  { listLimit }: McpFace,
): body is LeanListMessage {
  if (!isObject(body) || body.method !== 'tools/list' || !isObject(body.params)) return false;
  const { id, params } = body;
  const { _meta: meta } = params;
  if (typeof id !== 'string' && typeof id !== 'number') return false;
  if (listLimit !== undefined || !isObject(meta) || !hasOnly(params, LIST_PARAMS)) return false;
  if (!hasOnly(meta, LIST_META) || headers['mcp-protocol-version'] !== MODERN_REVISION)
    return false;
  return acceptsBoth(headers) && isPlain(headers, 'tools/list', undefined, meta);
}
