// What is looked at before a request is let in: its target, its framing, its media type and where it
// comes from.

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
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length === 1) return;
  throw new FabricError('BAD_INPUT', 'The request must have exactly one Host header', {
    details: { reason: 'host' },
  });
}

export function assertJson({ headers }: IncomingMessage): void {
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

/** From this machine and not through a proxy. */
export function isLocalPeer({ socket, headers }: IncomingMessage): boolean {
  const forwarded = headers['x-forwarded-for'] ?? headers.forwarded ?? headers.via;
  const { remoteAddress = '' } = socket;
  return forwarded === undefined && /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress);
}

export function cannotListen(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
): FabricError {
  const busy = error.code === 'EADDRINUSE';
  const why = busy ? 'the port is taken' : `${error.code}`;
  return new FabricError('BAD_INPUT', `Cannot listen on ${host}:${port}: ${why}`, {
    details: {
      reason: busy ? 'port_busy' : 'cannot_listen',
      fix: busy ? 'stop what runs there, or pass --port (0 picks a free one)' : 'check listen.host',
    },
    cause: error,
  });
}
