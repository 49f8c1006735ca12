// The files of the page, read once into memory: a path is the name of a file or it is nothing, so that no
// path leads elsewhere. They need no credential and hold no secret.

import { readdir, readFile, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { failure } from '../reasons.ts';
import { accepts } from '../rpc/posts.ts';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Of every answer below `/console`. */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** Names with a hash of their content never change. */
const IS_HASHED = /-[\w-]{8,}\.\w+$/;
const START = 'index.html';
const ROOT = '/console/';

type Files = ReadonlyMap<string, Buffer>;

export class Page {
  readonly #folder: string;
  #files: { readonly changed: number; readonly all: Files } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD') {
      throw failure('method_not_allowed', { allow: 'GET, HEAD' });
    }
    if (!path.startsWith(ROOT)) {
      response.writeHead(308, { ...SAFE_HEADERS, location: ROOT }).end();
      return;
    }
    const name = path.slice(ROOT.length) || START;
    const files = await this.#read();
    const type = TYPES[extname(name)];
    const plain = files.get(name);
    if (plain === undefined || type === undefined) throw failure('not_found', { path });
    const { body, encoding } = encoded(files, name, request.headers['accept-encoding'], plain);
    response.writeHead(200, {
      ...SAFE_HEADERS,
      'content-type': type,
      'content-length': body.length,
      vary: 'accept-encoding',
      'cache-control': IS_HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      ...(encoding !== undefined && { 'content-encoding': encoding }),
    });
    response.end(method === 'HEAD' ? undefined : body);
  }

  /** Again when the page was built again. */
  async #read(): Promise<Files> {
    const changed = await stat(join(this.#folder, START)).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changed === undefined) throw failure('console_not_built', { folder: this.#folder });
    if (this.#files?.changed === changed) return this.#files.all;
    const all = new Map<string, Buffer>();
    for (const name of await readdir(this.#folder)) {
      all.set(name, await readFile(join(this.#folder, name)));
    }
    this.#files = { changed, all };
    return all;
  }
}

function encoded(files: Files, name: string, accepted: string | undefined, plain: Buffer) {
  for (const [encoding, ending] of ENCODINGS) {
    const body = files.get(name + ending);
    if (body && accepts(accepted, encoding)) return { body, encoding };
  }
  return { body: plain, encoding: undefined };
}
