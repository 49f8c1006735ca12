// Requests about tokens: to addresses that the manifest names or that are public, no redirect to
// another origin, every answer bounded in time and bytes.

import type { FetchLike } from '@modelcontextprotocol/client';
import { FabricError } from '@starloom/core';
import { assertJsonLimits, createAddressGuard, UPSTREAM_JSON_LIMITS } from '@starloom/wire';
import { type Agent, fetch } from 'undici';

const MAX_BYTES = 262_144;
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface GuardedFetch {
  readonly fetch: FetchLike;
  close(): Promise<void>;
}

export interface GuardedFetchOptions {
  /** Hosts that the manifest names: they may be private. */
  readonly hosts: readonly string[];
  readonly timeoutMs: number;
}

export function createGuardedFetch({ hosts, timeoutMs }: GuardedFetchOptions): GuardedFetch {
  const guard = createAddressGuard({ allow: hosts });
  const dispatcher = guard.dispatcher({ connectTimeout: timeoutMs, connections: 4 });
  return {
    fetch: async (url, init = {}) => {
      guard.check(String(url));
      return await boundedFetch(String(url), init, dispatcher, timeoutMs);
    },
    close: () => dispatcher.destroy(),
  };
}

async function boundedFetch(
  url: string,
  init: RequestInit,
  dispatcher: Agent,
  timeoutMs: number,
): Promise<Response> {
  const { method = 'GET', body } = init;
  const response = await fetch(url, {
    method,
    headers: Object.fromEntries(new Headers(init.headers)),
    body: body === undefined || body === null ? null : String(body),
    dispatcher,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const { status } = response;
  const text = await readText(response.body);
  if (isJson(response.headers.get('content-type'))) assertJsonLimits(text, UPSTREAM_JSON_LIMITS);
  const kept = [...response.headers].filter(([name]) => !/^content-(length|encoding)$/.test(name));
  return new Response(WITHOUT_BODY.has(status) ? null : text, { status, headers: kept });
}

function isJson(type: string | null): boolean {
  return /\bjson\b/i.test(type ?? '');
}

async function readText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'An answer about tokens is over the size limit', {
    details: { reason: 'answer_too_large', limit: MAX_BYTES },
  });
}
