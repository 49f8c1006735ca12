// The certificates that the gateway listens with: read from their files, and read again when these
// change. Connections that are open go on; new ones see the new certificate. Files that do not belong
// together, half of a replacement for one, are not taken: the ones before go on.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Secret } from '@starloom/config';
import { FabricError, type Log } from '@starloom/core';
import { FileWatch, fingerprintOf } from '@starloom/wire';
import { toClientCertificate } from './client-certificate.ts';

export interface TlsConfig {
  readonly certificate: Secret;
  readonly key: Secret;
  readonly client_ca?: Secret | undefined;
  readonly client_crl?: Secret | undefined;
  readonly client_certificates: 'none' | 'optional' | 'required';
}

/** PEM; as `tls.createSecureContext` takes it. */
export interface TlsContext {
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
    throw unusable('client_crl', 'is no revocation list in PEM');
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
  if (!isOwn) throw unusable('key', 'is not the private key of the certificate');
}

function parse(pem: string, name: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw unusable(name, 'is no certificate in PEM');
  }
}

function unusable(name: string, what: string): FabricError {
  return new FabricError('BAD_INPUT', `listen.tls.${name} ${what}`, {
    details: { reason: 'bad_certificate', fix: 'name PEM files that belong together' },
  });
}

function isSame(a: TlsContext, b: TlsContext): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca && a.crl === b.crl;
}
