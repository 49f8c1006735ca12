// What of a request's `_meta` an agent receives. Keys of MCP itself, of the trace and of ours belong to the
// hop between client and gateway, and so do credentials; what is left is between client and agent.

import { type Fields, isTrustedAs, type Manifest } from '@starloom/core';

type Meta = Readonly<Record<string, unknown>>;

const OF_THE_PROTOCOL = 'io.modelcontextprotocol/';
/** MCP reserves prefixes whose first or second label is one of these. */
const RESERVED = /^(?:[^./]+\.)?(?:mcp|modelcontextprotocol)[./]/;
const OURS = ['io.starloom/', 'x-openstarry-', 'x-agent-'];
const OF_THE_HOP: ReadonlySet<string> = new Set([
  'progresstoken',
  'traceparent',
  'tracestate',
  'baggage',
  'authorization',
  'cookie',
]);

/** Those of a request at this agent; `undefined` when there are none. */
export function metaFor({ trust_tier, pass_meta }: Manifest, meta: Meta): Fields | undefined {
  return (pass_meta ?? isTrustedAs(trust_tier, 'org')) ? passedMeta(meta) : undefined;
}

/** The keys that may be passed on to agents at all. */
export function passedMeta(meta: Meta): Fields | undefined {
  let passed: Fields | undefined;
  for (const key of Object.keys(meta)) {
    if (key.startsWith(OF_THE_PROTOCOL) || !isPassed(key.toLowerCase())) continue;
    passed ??= {};
    passed[key] = meta[key];
  }
  return passed;
}

function isPassed(key: string): boolean {
  if (OF_THE_HOP.has(key) || RESERVED.test(key)) return false;
  return !OURS.some((prefix) => key.startsWith(prefix));
}
