// The server that connections come to, plain or encrypted. A client certificate that is expired, revoked
// or of another CA ends the connection, also where none is required.

import { constants, createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { createSecureContext, type TLSSocket } from 'node:tls';
import type { Secret } from '@starloom/config';
import { FabricError, type Log } from '@starloom/core';
import type { ClientCertificate } from '@starloom/identity';
import { FileWatch, fingerprintOf } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { CountedResponse } from './reply.ts';
import type { HttpOptions } from './routes.ts';

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

/** The URL that the server is reached under, once it listens. */
export async function listenAt(
  server: Server<typeof IncomingMessage, typeof CountedResponse>,
  { host, port, certificates }: Pick<HttpOptions, 'host' | 'port' | 'certificates'>,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)));
    server.listen({ port, host, backlog: BACKLOG }, resolve);
  });
  const address = server.address();
  const actual = typeof address === 'object' && address ? address.port : port;
  const scheme = certificates ? 'https' : 'http';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}

/** Connections beyond it are dropped, and try again after a second; the system may allow fewer. */
const BACKLOG = 4_096;

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): FabricError {
  const address = `${host}:${port}`;
  const origin = { cause: error };
  if (error.code === 'EADDRINUSE') return failure('port_busy', { address }, origin);
  return failure('cannot_listen', { address, why: error.code }, origin);
}

// The certificate that a client showed when it connected, as identity knows it.

const known = new WeakMap<Socket, ClientCertificate>();

/** `undefined` where the client showed none. One that was not verified ends with its connection. */
export function certificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const before = known.get(socket);
  if (before) return before;
  const shown = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (!shown) return undefined;
  const certificate = toClientCertificate(shown);
  known.set(socket, certificate);
  return certificate;
}

/** Whether the client showed a certificate that does not hold. */
function isUnverified(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined;
}

export function toClientCertificate(certificate: X509Certificate): ClientCertificate {
  const { CN: name } = certificate.toLegacyObject().subject;
  return {
    thumbprint: hash('sha256', certificate.raw, 'base64url'),
    names: splitNames(certificate.subjectAltName ?? ''),
    subject: typeof name === 'string' ? name : '',
    expiresAt: Date.parse(certificate.validTo),
  };
}

const NAME = /([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/**
 * Node puts a name with odd characters in quotes, so that it cannot pass for several. Such names are left
 * out: no rule is to fit them.
 */
function splitNames(text: string): string[] {
  const names: string[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < text.length) {
    const [, kind = '', value = ''] = NAME.exec(text) ?? [];
    if (kind === '') return [];
    if (!value.startsWith('"')) names.push(`${kind}:${value}`);
  }
  return names;
}

// The certificates that the gateway listens with: read from their files, and read again when these
// change. Connections that are open go on; new ones see the new certificate. Files that do not belong
// together, half of a replacement for one, are not taken: the ones before go on.

interface TlsConfig {
  readonly certificate: Secret;
  readonly key: Secret;
  readonly client_ca?: Secret | undefined;
  readonly client_crl?: Secret | undefined;
  readonly client_certificates: 'none' | 'optional' | 'required';
}

/** PEM; as `tls.createSecureContext` takes it. */
interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
  readonly crl?: string | undefined;
}

export interface TlsFilesOptions {
  readonly config: TlsConfig;
  /** Of the configuration: relative paths begin there. */
  readonly folder: string;
  readonly log: Log;
  readonly pollMs?: number;
}

const PARTS = { cert: 'certificate', key: 'key', ca: 'client_ca', crl: 'client_crl' } as const;

export class TlsFiles {
  readonly clients: TlsConfig['client_certificates'];
  readonly #options: TlsFilesOptions;
  readonly #watches: FileWatch[] = [];
  readonly #listeners = new Set<(context: TlsContext) => void>();
  #current: TlsContext;

  private constructor(options: TlsFilesOptions, first: TlsContext) {
    this.#options = options;
    this.#current = first;
    this.clients = options.config.client_certificates;
  }

  /** Throws BAD_INPUT for certificates that cannot be used. */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    const paths = Object.values(PARTS).flatMap((name) => pathOf(options, name) ?? []);
    const known = await Promise.all(paths.map(async (path) => [path, await fingerprintOf(path)]));
    const files = new TlsFiles(options, await readAll(options));
    for (const [path = '', fingerprint = ''] of known) files.#watch(path, fingerprint);
    return files;
  }

  get context(): TlsContext {
    return this.#current;
  }

  /** The certificates by what they are for; of a chain the first. */
  get certificates(): ReadonlyMap<string, X509Certificate> {
    const { cert, ca } = this.#current;
    const own = new Map([['listen', new X509Certificate(cert)]]);
    return ca === undefined ? own : own.set('client_ca', new X509Certificate(ca));
  }

  /** Names that the certificate is for. */
  get hosts(): string[] {
    const { names } = toClientCertificate(new X509Certificate(this.#current.cert));
    return names.flatMap((name) => /^DNS:([^*]+)$/.exec(name)?.[1] ?? []);
  }

  /** Calls back with every replacement. */
  onChange(listener: (context: TlsContext) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }

  #watch(path: string, known: string): void {
    const { log, pollMs } = this.#options;
    const onChange = () => void this.#reload();
    const pace = pollMs === undefined ? {} : { pollMs };
    this.#watches.push(new FileWatch({ path, known, onChange, log, ...pace }));
  }

  async #reload(): Promise<void> {
    const { log } = this.#options;
    try {
      const next = await readAll(this.#options);
      if (isSame(next, this.#current)) return;
      this.#current = next;
      for (const listener of this.#listeners) listener(next);
      const until = new X509Certificate(next.cert).validTo;
      log.info({ valid_to: until }, 'the certificates were replaced');
    } catch (error) {
      const reason = FabricError.from(error);
      log.error({ error: reason }, 'new certificates were not taken; the ones before go on');
    }
  }
}

/** Of what is watched: references to variables do not change. */
function pathOf({ config, folder }: TlsFilesOptions, name: keyof TlsConfig): string | undefined {
  const secret = config[name];
  const reference = typeof secret === 'object' ? secret.reference : '';
  return reference.startsWith('file:') ? resolve(folder, reference.slice(5)) : undefined;
}

async function readAll(options: TlsFilesOptions): Promise<TlsContext> {
  const read = async (name: (typeof PARTS)[keyof typeof PARTS]) => {
    const path = pathOf(options, name);
    return path === undefined ? options.config[name]?.reveal() : await readFile(path, 'utf8');
  };
  const [cert = '', key = '', ca, crl] = await Promise.all(Object.values(PARTS).map(read));
  assertPair(cert, key);
  if (ca !== undefined) parse(ca, 'client_ca');
  const context = { cert, key, ...(ca !== undefined && { ca }), ...(crl && { crl }) };
  try {
    createSecureContext(context);
  } catch {
    throw failure('bad_certificate', {
      name: 'client_crl',
      problem: 'is no revocation list in PEM',
    });
  }
  return context;
}

function assertPair(cert: string, key: string): void {
  const certificate = parse(cert, 'certificate');
  let isOwn = false;
  try {
    isOwn = certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // No key at all is as wrong as a foreign one.
  }
  if (!isOwn) {
    const problem = 'is not the private key of the certificate';
    throw failure('bad_certificate', { name: 'key', problem });
  }
}

function parse(pem: string, name: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw failure('bad_certificate', { name, problem: 'is no certificate in PEM' });
  }
}

function isSame(a: TlsContext, b: TlsContext): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca && a.crl === b.crl;
}
