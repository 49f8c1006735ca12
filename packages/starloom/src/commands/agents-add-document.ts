// Whether a URL that is added is the card of an A2A agent. Asked only of URLs that may be one; an
// agent that is away, or wants to know who asks, is recognised by the place of its card.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspectOpenApi, isAgentCard } from '@starloom/adapters';
import { type Manifest, silentLog } from '@starloom/core';
import { resolveEndpoint } from '@starloom/registry';
import { createGuardedFetch } from '@starloom/wire';
import { isReference } from '../import-servers/expand.ts';
import { toUsageError } from '../report-error.ts';
import { toAgentId } from '../to-agent-id.ts';
import type { AddOptions } from './agents.ts';
import { nameOfUrl, toServerManifest } from './agents-add-manifest.ts';

interface FoundCard {
  /** As the card says; absent when it could not be read. */
  readonly name?: string;
}

const TIMEOUT_MS = 5_000;

export async function findAgentCard(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FoundCard | undefined> {
  if (!URL.canParse(url)) return undefined;
  const { pathname } = new URL(url);
  if (!pathname.endsWith('.json')) return undefined;
  const card = await readJson(url, headers);
  if (isAgentCard(card)) return { name: String(Reflect.get(card as object, 'name')) };
  const isItsPlace = pathname.endsWith('/.well-known/agent-card.json');
  return isItsPlace && card === undefined ? {} : undefined;
}

/** `undefined` when there is no JSON to be had. */
async function readJson(url: string, headers: Readonly<Record<string, string>>): Promise<unknown> {
  const known = Object.entries(headers).filter(([, value]) => !isReference(value));
  const http = createGuardedFetch({ hosts: [new URL(url).hostname], timeoutMs: TIMEOUT_MS });
  try {
    const response = await http.fetch(url, {
      headers: { 'A2A-Version': '1.0', ...Object.fromEntries(known) },
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  } finally {
    await http.close();
  }
}

// A REST interface with an OpenAPI document: each of its operations becomes a capability. Where calls
// go is decided here, once, and written into the file of agents.

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
