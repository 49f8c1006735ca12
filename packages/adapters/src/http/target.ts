// Where an agent is and what every request to it carries, checked once: a manifest may not smuggle
// a second request through a header, nor credentials through the address.

import type { Manifest } from '@starloom/core';
import type { z } from 'zod';
import { failure } from '../reasons.ts';
import type { httpOptionsSchema } from './options.ts';
import type { AnswerLimits } from './readers.ts';

export interface Target extends AnswerLimits {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** The path of something below the address of the agent, with the same query. */
  readonly pathOf: (below: string) => string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly healthTimeoutMs: number;
}

export type HttpOptions = z.infer<typeof httpOptionsSchema>;

export function parseTarget(manifest: Manifest, options: HttpOptions): Target {
  const url = parseUrl(manifest);
  const base = url.pathname.replace(/\/+$/, '');
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    pathOf: (below) => `${base}${below}${url.search}`,
    headers: parseHeaders(manifest),
    maxResultBytes: options.max_result_bytes,
    maxStreamBytes: options.max_stream_bytes,
    healthTimeoutMs: options.health_timeout_ms,
  };
}

export function parseUrl({ agent_id, endpoint }: Manifest): URL {
  const url = URL.parse(endpoint.uri ?? '');
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw failure('bad_uri', { agent_id });
  }
  if (url.username !== '' || url.password !== '') {
    throw failure('uri_credentials', { agent_id });
  }
  return url;
}

export function parseHeaders({ agent_id, endpoint }: Manifest): Record<string, string> {
  const headers = Object.entries(endpoint.headers ?? {}).map(([name, value]) => {
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(lower) || !HEADER_VALUE.test(value) || FRAMING.has(lower)) {
      throw failure('bad_header', { agent_id, header: name.slice(0, 64) });
    }
    return [lower, value] as const;
  });
  return Object.fromEntries(headers);
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** How a message is framed and what becomes of the connection is for the client to say. */
const FRAMING = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
