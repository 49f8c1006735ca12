// What is checked of a request before its body is read, whichever endpoint it is for.

import type { IncomingMessage } from 'node:http';
import { FabricError } from '@starloom/core';

/** Nearly every request asks for this; it need not be parsed again. */
const MCP_TARGET = new URL('http://gateway/mcp');

export function parseTarget(target = '/'): URL {
  if (target === '/mcp') return MCP_TARGET;
  const url = URL.parse(target, 'http://gateway');
  const [path = ''] = target.split(/[?#]/, 1);
  if (url && url.host === 'gateway' && url.pathname === path) return url;
  throw new FabricError('BAD_INPUT', 'The request target is not a plain path', {
    details: { reason: 'target', fix: 'ask for a path such as /mcp, without "..", "//" or a host' },
  });
}

const METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** What a proxy before us may have read in another way. */
export function assertFraming({ method, rawHeaders }: IncomingMessage): void {
  if (!METHODS.has(method)) {
    throw new FabricError('BAD_INPUT', `The method ${method} is not served`, {
      details: { reason: 'method_not_allowed', http_status: 405, allow: [...METHODS].join(', ') },
    });
  }
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts === 1) return;
  throw new FabricError('BAD_INPUT', 'The request must have exactly one Host header', {
    details: { reason: 'host' },
  });
}

export function assertJson({ headers }: IncomingMessage): void {
  const isUsual = headers['content-type'] === 'application/json';
  if (isUsual && headers['content-encoding'] === undefined) return;
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const { 'content-encoding': encoding = 'identity' } = headers;
  const isPlain = encoding.toLowerCase() === 'identity';
  if (isPlain && type.trim().toLowerCase() === 'application/json') return;
  const message = isPlain
    ? 'The content type must be application/json'
    : 'The body must not be compressed';
  throw new FabricError('BAD_INPUT', message, {
    details: { reason: isPlain ? 'content_type' : 'content_encoding', http_status: 415 },
  });
}
