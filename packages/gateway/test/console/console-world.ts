// A gateway with a console, and pages that are signed in to it.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { SessionStarted, StreamLine } from '@starloom/console/api-types';
import { createCoordination, openStore } from '@starloom/coordination';
import { Closers, silentLog, systemClock } from '@starloom/core';
import { createKey, openIdentity } from '@starloom/identity';
import { createMemoryJobEngine } from '@starloom/jobs';
import { temporaryFolder } from '@starloom/testkit';
import { mayUseCoordination, Pinning } from '../../src/index.ts';
import { openTestGateway, type TestAgent, type TestGatewayOptions } from '../test-gateway.ts';

export const HASHED = 'main-AbCdEf0123.js';

export interface ConsoleWorldOptions extends TestGatewayOptions {
  /** Scopes by key; `admin` has all. */
  readonly keys?: Readonly<Record<string, readonly string[]>>;
  readonly isBuilt?: boolean;
  /** With jobs, sessions of agents and pins. */
  readonly isWhole?: boolean;
}

export async function openConsoleWorld(
  agents: Record<string, TestAgent>,
  { keys = {}, isBuilt = true, isWhole = false, ...options }: ConsoleWorldOptions = {},
) {
  const folder = await temporaryFolder();
  const identityFolder = join(folder.path, 'identity');
  const pageFolder = join(folder.path, 'page');
  if (isBuilt) await writePage(pageFolder);
  const secrets: Record<string, string> = {};
  for (const [keyId, scopes] of Object.entries({ admin: ['*'], ...keys })) {
    const grant = { keyId, principal: keyId, tier: 'org', scopes } as const;
    secrets[keyId] = (await createKey(identityFolder, grant, Date.now())).key;
  }
  const identity = await openIdentity({
    folder: identityFolder,
    configured: [],
    anonymous: false,
    auditFolder: join(folder.path, 'audit'),
    log: silentLog,
  });
  const opened = new Closers();
  const whole: Partial<Awaited<ReturnType<typeof openParts>>> = isWhole
    ? await openParts(folder.path, opened)
    : {};
  const gateway = await openTestGateway(agents, {
    authenticator: identity.authenticator,
    identity,
    ...whole,
    ...options,
    console: { pageFolder, stateFolder: folder.path, ...options.console },
  });
  const { url } = gateway;
  return {
    ...gateway,
    ...whole,
    identity,
    identityFolder,
    stateFolder: folder.path,
    keyOf: (keyId: string) => secrets[keyId] ?? '',
    signIn: (keyId = 'admin') => signIn(url, secrets[keyId] ?? ''),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await opened.close();
      await identity.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function openParts(stateFolder: string, opened: Closers) {
  const store = await openStore({ kind: 'embedded' }, { log: silentLog });
  opened.add(() => store.close());
  const coordination = createCoordination({ store, log: silentLog, mayUse: mayUseCoordination });
  opened.add(() => coordination.close());
  const pinning = await Pinning.open({ stateFolder, isStrict: false, log: silentLog });
  opened.add(() => pinning.close());
  return { coordination, pinning, jobs: createMemoryJobEngine(systemClock) };
}

async function writePage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const script = 'export {};\n'.repeat(100);
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Starloom</title>');
  await writeFile(join(folder, HASHED), script);
  await writeFile(join(folder, `${HASHED}.gz`), gzipSync(script));
  await writeFile(join(folder, 'secret.json'), '{}');
}

export interface Page {
  readonly csrf: string;
  readonly cookie: string;
  /** One request as the page sends it. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** The JSON of an answer. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read into answers freely
  get(path: string): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read into answers freely
  post(path: string, body?: unknown): Promise<any>;
  listen(query?: string): Promise<Listener>;
}

export async function signIn(url: string, key: string): Promise<Page> {
  const response = await beginSession(url, {}, { authorization: `Bearer ${key}` });
  if (response.status !== 200) throw new Error(`signing in: ${await response.text()}`);
  return toPage(url, response);
}

export function beginSession(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/console/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

export async function toPage(url: string, response: Response): Promise<Page> {
  const { csrf } = (await response.json()) as SessionStarted;
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  const send: Page['send'] = (method, path, body, headers) =>
    fetch(`${url}/console/api/${path}`, {
      method,
      headers: {
        cookie,
        'x-starloom-csrf': csrf,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return {
    csrf,
    cookie,
    send,
    get: async (path) => (await send('GET', path)).json(),
    post: async (path, body = {}) => (await send('POST', path, body)).json(),
    listen: async (query = '') => new Listener(await send('GET', `events${query}`)),
  };
}

/** What a page has read of its stream. */
export class Listener {
  readonly lines: StreamLine[] = [];
  readonly ended: Promise<void>;
  readonly #response: Response;

  constructor(response: Response) {
    this.#response = response;
    this.ended = this.#read().catch(() => {});
  }

  get status(): number {
    return this.#response.status;
  }

  async close(): Promise<void> {
    await this.#response.body?.cancel().catch(() => {});
  }

  async #read(): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of this.#response.body ?? []) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) this.lines.push(JSON.parse(part));
    }
  }
}
