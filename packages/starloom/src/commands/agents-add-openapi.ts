// A REST interface with an OpenAPI document: each of its operations becomes a capability. Where calls
// go is decided here, once, and written into the file of agents.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspectOpenApi } from '@starloom/adapters';
import { type Manifest, silentLog } from '@starloom/core';
import { resolveEndpoint } from '@starloom/registry';
import { toUsageError } from '../report-error.ts';
import { toAgentId } from '../to-agent-id.ts';
import type { AddOptions } from './agents.ts';
import { nameOfUrl, toServerManifest } from './agents-add-server.ts';

const READ_MS = 30_000;
const SNIFFED_BYTES = 65_536;

/** The document that is meant by `what`, if it is one: its address, or its path. */
export async function findOpenApi(
  what: string,
  cwd: string,
  { protocol = 'http' }: AddOptions,
): Promise<string | undefined> {
  if (protocol !== 'http') return undefined;
  if (/^https?:\/\//i.test(what)) return isDocumentAddress(what) ? what : undefined;
  const path = resolve(cwd, what);
  if (!/\.(json|ya?ml)$/i.test(path)) return undefined;
  return /(^|[{,\s])"?(openapi|swagger)"?\s*:\s*["']?[23]/.test(await beginningOf(path))
    ? path
    : undefined;
}

/** `document` is an address, or a path below `folder`. */
export async function toOpenApiManifest(
  document: string,
  options: AddOptions,
  { env, folder }: { readonly env: NodeJS.ProcessEnv; readonly folder: string },
): Promise<Manifest> {
  if (options.env !== undefined) throw toUsageError('--env goes with a command');
  if (options.server !== undefined && !/^https?:\/\//i.test(options.server)) {
    throw toUsageError(`"${options.server}" is no URL`);
  }
  const reader = toServerManifest('document', {} as AddOptions, {
    transport: 'http',
    uri: 'http://document.invalid',
    ...(options.header && { headers: options.header }),
  });
  const { endpoint } = await resolveEndpoint(reader, env);
  const { title, server } = await inspectOpenApi(
    { document, baseFolder: folder, headers: endpoint.headers, server: options.server },
    { signal: AbortSignal.timeout(READ_MS), log: silentLog, names: { document } },
  );
  return toServerManifest(options.name ?? nameOf(title, server), options, {
    transport: 'http',
    protocol: 'http',
    uri: server,
    ...(options.header && { headers: options.header }),
    options: { profile: 'openapi', document },
  });
}

function isDocumentAddress(address: string): boolean {
  const { pathname = '' } = URL.parse(address) ?? {};
  if (/\/(agent|agent-card)\.json$/.test(pathname)) return false;
  return /\.(json|ya?ml)$/i.test(pathname) || /(openapi|swagger|api-docs)/i.test(pathname);
}

function nameOf(title: string | undefined, server: string): string {
  return title && /[a-z0-9]/i.test(title) ? toAgentId(title) : nameOfUrl(new URL(server));
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return '';
  await using opened = file;
  const { buffer, bytesRead } = await opened
    .read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0)
    .catch(() => ({ buffer: Buffer.alloc(0), bytesRead: 0 }));
  return buffer.subarray(0, bytesRead).toString('utf8');
}
