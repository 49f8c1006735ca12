// The door of the console. The rest of it is loaded with the first request to `/console`: gateways whose
// page no person opens do not pay for it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Origin } from '@starloom/config';
import type { Coordination } from '@starloom/coordination';
import { FabricError } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { toRefusal } from '@starloom/wire';
import type { GatewayOptions } from '../gateway.ts';
import type { Pipeline } from '../gateway-pipeline.ts';
import type { Registrations } from '../registrations.ts';
import type { GatewayTools } from '../tools/catalog.ts';
import type { Engine } from '../tools/health.ts';
import { assertJson } from '../transports/read-request.ts';
import type { Route } from '../transports/routes.ts';
import type { ConsoleServer } from './server.ts';

export const CONSOLE_ROOT = '/console';
const API = /^\/console\/api(?:\/|$)/;

/** What the composition root gives; without it there is no console. */
export interface ConsoleOptions {
  /** Where the built page is. */
  readonly pageFolder: string;
  /** Where sessions are kept. */
  readonly stateFolder: string;
  /** What the configuration says, with secrets as references, and where each value comes from. */
  readonly settings?: {
    readonly file?: string | undefined;
    readonly value: unknown;
    readonly origins: ReadonlyMap<string, Origin>;
  };
}

/** What the console shows and steers. */
export interface ConsoleParts extends ConsoleOptions {
  readonly gateway: GatewayOptions;
  readonly pipeline: Pipeline;
  readonly catalog: GatewayTools;
  readonly registrations: Registrations;
  readonly coordination: Coordination | undefined;
  readonly engines: Readonly<Record<string, Engine>>;
}

export class Console {
  readonly #parts: ConsoleParts;
  #server: Promise<ConsoleServer> | undefined;
  #isClosed = false;

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  readonly route: Route = {
    face: 'console',
    dialect: 'payload',
    isTree: true,
    mayBeEmpty: true,
    assertMediaType: (request) => {
      if (hasBody(request)) assertJson(request);
    },
    serve: async (exchange) => (await this.#load()).serve(exchange),
    toRefusal: (thrown, id, _at, trace) => {
      const error = FabricError.from(thrown);
      const { status, headers } = toRefusal(error, id, 'payload', trace);
      const { http_status: _, rpc_code: __, ...details } = error.details;
      const payload = new FabricError(error.code, error.message, { details }).toPayload(trace);
      const safe = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
      return { status, headers: { ...headers, ...safe }, body: JSON.stringify(payload) };
    },
  };

  /** Whether the path is served without a credential. */
  isPage(path: string): boolean {
    return !API.test(path);
  }

  async servePage(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    await (await this.#load()).page.serve(request, response, path);
  }

  /** Who asks: by the cookie and the token, or where a session begins `byHeaders`. */
  async authenticate(
    request: IncomingMessage,
    url: URL,
    byHeaders: () => Principal | Promise<Principal>,
  ): Promise<Principal> {
    return await (await this.#load()).authenticate(request, url, byHeaders);
  }

  /** Opens one session for this principal, within ten minutes. */
  async createCode(principal: Principal): Promise<string> {
    return (await (await this.#load()).createCode(principal)).code;
  }

  /** Ends the streams of pages. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#server?.catch(() => undefined))?.close();
  }

  #load(): Promise<ConsoleServer> {
    if (this.#isClosed) throw new FabricError('OVERLOADED', 'The gateway is shutting down');
    this.#server ??= import('./server.ts').then(({ ConsoleServer }) =>
      ConsoleServer.open(this.#parts),
    );
    this.#server.catch(() => {
      this.#server = undefined;
    });
    return this.#server;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
  return length !== '0' || encoding !== undefined;
}
