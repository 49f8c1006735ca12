// The server that connections come to, plain or encrypted. A client certificate that is expired, revoked
// or of another CA ends the connection, also where none is required.

import { constants } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { FabricError } from '@starloom/core';
import { isUnverified } from './client-certificate.ts';
import { CountedResponse } from './held-bytes.ts';
import type { TlsContext, TlsFiles } from './tls-files.ts';

type Request = typeof IncomingMessage;
type Response = typeof CountedResponse;

export function createListener(
  settings: ServerOptions<Request, Response>,
  files: TlsFiles | undefined,
  serve: RequestListener<Request, Response>,
): Server<Request, Response> {
  const options = { ...settings, ServerResponse: CountedResponse };
  if (!files) return createServer(options, serve);
  const { clients } = files;
  const asked = { requestCert: clients !== 'none', rejectUnauthorized: clients === 'required' };
  const timing = { handshakeTimeout: HANDSHAKE_MS };
  const server = createTlsServer(
    { ...options, ...timing, ...asked, ...SHARED, ...files.context },
    serve,
  );
  const trusted = new Map<TLSSocket, TlsContext>();
  server.on('secureConnection', (socket: TLSSocket) => {
    if (clients !== 'none' && isUnverified(socket)) return void socket.destroy();
    if (clients === 'none') return;
    trusted.set(socket, files.context);
    socket.once('close', () => trusted.delete(socket));
  });
  files.onChange((next) => {
    server.setSecureContext({ ...SHARED, ...next });
    endDistrusted(trusted, next);
  });
  return server;
}

const HANDSHAKE_MS = 15_000;

/**
 * No session is resumed: its certificate would not be verified again. HTTP/1.1 is all that is spoken.
 */
const SHARED = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_TICKET,
  ALPNProtocols: ['http/1.1'],
} as const;

/** With another CA or revocation list, clients have to show their certificate again. */
function endDistrusted(trusted: ReadonlyMap<TLSSocket, TlsContext>, next: TlsContext): void {
  for (const [socket, context] of trusted) {
    if (context.ca === next.ca && context.crl === next.crl) continue;
    if (socket.getPeerX509Certificate()) socket.destroy();
  }
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
