// `starloom agents login`: a person opens a link, agrees, and the browser brings the answer back to
// this machine. The tokens go into the state folder; a running gateway reads them with its next call.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beginLogin, endLogin } from '@starloom/adapters';
import { FabricError } from '@starloom/core';
import { anchorSecretFiles, resolveEndpoint } from '@starloom/registry';
import type { GlobalOptions } from '../command-line.ts';
import { failure } from '../reasons.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';
import { findAgentsPlace } from './agents-place.ts';
import { unknownAgent } from './agents-remove.ts';

const WAIT_MS = 10 * 60_000;

export async function loginToAgent(
  terminal: Terminal,
  agentId: string,
  options: GlobalOptions & { readonly scope?: string },
): Promise<void> {
  const manifest = await findManifest(terminal, agentId, options);
  await using redirect = new RedirectListener();
  await using login = await beginLogin({
    manifest,
    stateFolder: await makeStateFolder(terminal.env),
    scope: options.scope,
    listen: (port) => redirect.listen(port),
  });
  const { link, issuer } = login;
  if (options.json) terminal.json({ event: 'link', agent_id: agentId, link, issuer });
  else {
    terminal.tell(line`Open this link to log in to ${agentId} at ${issuer}:\n`);
    terminal.print(link);
    terminal.tell('\nwaiting for the answer of the browser; Ctrl-C ends it');
  }
  const answer = await redirect.answer(login.isOurs, WAIT_MS);
  try {
    await login.finish(answer.params);
  } catch (error) {
    const { message } = FabricError.from(error);
    await answer.reply(400, `${message}. See the terminal.`);
    throw error;
  }
  await answer.reply(200, `Logged in to ${agentId}. You can close this page.`);
  if (options.json) terminal.json({ event: 'logged_in', agent_id: agentId });
  else terminal.tell(`logged in to ${agentId}`);
}

/** The tokens are gone from this machine afterwards, whatever the server says. */
export async function logoutFromAgent(terminal: Terminal, agentId: string, options: GlobalOptions) {
  const manifest = await findManifest(terminal, agentId, options);
  const stateFolder = await makeStateFolder(terminal.env);
  const { wasLoggedIn, isRevoked } = await endLogin({ manifest, stateFolder });
  if (options.json) {
    const event = { event: 'logged_out', agent_id: agentId };
    terminal.json({ ...event, was_logged_in: wasLoggedIn, revoked: isRevoked });
  } else if (!wasLoggedIn) terminal.tell(`there was no login to ${agentId}`);
  else if (isRevoked) terminal.tell(`logged out of ${agentId}; the server revoked the tokens`);
  else {
    terminal.tell(`removed the tokens of ${agentId}; the server did not revoke them,`);
    terminal.tell('so they expire by themselves');
  }
}

async function findManifest(terminal: Terminal, agentId: string, options: GlobalOptions) {
  await using place = await findAgentsPlace(terminal, options);
  const { folder } = place;
  const agents = await place.agents();
  const manifest = agents.find(({ agent_id }) => agent_id === agentId);
  if (manifest === undefined) throw unknownAgent(agentId, agents, place);
  return await resolveEndpoint(anchorSecretFiles(manifest, folder), terminal.env);
}

// Takes the one request that a browser makes after a login (RFC 8252, 7.3): on the loopback address
// only. Requests without the secret of the login are refused and change nothing.

const PATH = '/callback';
const REQUEST_MS = 10_000;

interface RedirectAnswer {
  readonly params: URLSearchParams;
  reply(status: number, text: string): Promise<void>;
}

export class RedirectListener implements AsyncDisposable {
  /** Before and after `answer` nothing is expected. */
  #onRequest: typeof refuse = refuse;
  /** A name that leads here (DNS rebinding) is not ours. */
  #host = '';
  readonly #server: Server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, maxHeaderSize: 16_384 },
    (request, response) => this.#onRequest(request, response),
  );

  /** The address that the authorization server sends the browser to. */
  async listen(port: number): Promise<string> {
    this.#server.listen(port, '127.0.0.1');
    try {
      await once(this.#server, 'listening');
    } catch (cause) {
      throw failure('port_taken', { port }, { cause });
    }
    this.#host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return `http://${this.#host}${PATH}`;
  }

  /** The first request that `isOurs` accepts; TIMEOUT when none comes. */
  async answer(
    isOurs: (params: URLSearchParams) => boolean,
    timeoutMs: number,
  ): Promise<RedirectAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RedirectAnswer>();
    this.#onRequest = (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1');
      const params = url.searchParams;
      const isHere = request.headers.host === this.#host;
      if (!isHere || request.method !== 'GET' || url.pathname !== PATH) refuse(request, response);
      else if (hasDoubled(params)) write(response, 400, 'A parameter came twice.');
      else if (!isOurs(params)) write(response, 400, 'This is not the login asked for.');
      else resolve({ params, reply: (status, text) => finish(response, status, text) });
    };
    const late = failure('login_timeout', { timeout_ms: timeoutMs });
    const timer = setTimeout(() => reject(late), timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#onRequest = refuse;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

/** RFC 6749, 3.1: a parameter is not included more than once. */
function hasDoubled(params: URLSearchParams): boolean {
  const names = [...params.keys()];
  return new Set(names).size < names.length;
}

const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

function refuse(_: IncomingMessage, response: ServerResponse): void {
  write(response, 404, 'Nothing here.');
}

function write(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, HEADERS).end(`${text}\n`);
}

async function finish(response: ServerResponse, status: number, text: string): Promise<void> {
  if (response.destroyed) return;
  const closed = once(response, 'close');
  write(response, status, text);
  await closed;
}
