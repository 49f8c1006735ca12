// The session of one older client over HTTP: its requests, the stream it listens on, and what it said
// of itself when it connected. Calls of tools go by the lean lane, everything else by the SDK.

import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCMessage,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type Server,
} from '@modelcontextprotocol/server';
import { FabricError, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { type EventBudget, SentEvents } from '../transports/event-log.ts';
import { INVALID_REQUEST } from '../transports/frame.ts';
import type { HttpRequest } from '../transports/http.ts';
import { SessionTransport } from '../transports/session-transport.ts';
import { answerInputs } from './answer-inputs.ts';
import { canAskAnything, declaredCapabilities } from './ask-client.ts';
import { Coalesced } from './coalesced.ts';
import { type Connection, toAuthInfo } from './connection.ts';
import { OLDER_REVISIONS, readLeanCall } from './lean-call.ts';
import { type LeanSession, serveLeanCall } from './lean-lane.ts';
import { type ListKind, sendListChanged } from './list-changes.ts';
import { ClientLogLevel } from './log-level.ts';
import { createServer, type McpFace } from './server-factory.ts';
import type { SessionUpdates } from './session-updates.ts';

export interface HttpSessionOptions {
  readonly face: McpFace;
  readonly log: Log;
  readonly budget: EventBudget;
  /** Called once. */
  readonly onClosed: (session: HttpSession) => void;
}

/** The only revision that has batches. */
const BATCHES = '2025-03-26';
/** From here on a stream may begin with an empty event. */
const PRIMES = '2025-11-25';
const HEADER_MISMATCH = -32_020;

export class HttpSession {
  readonly id = randomUUID();
  readonly #principal: Principal;
  readonly #options: HttpSessionOptions;
  readonly #server: Server;
  readonly #transport: SessionTransport;
  readonly #logLevel = new ClientLogLevel();
  readonly #changes: Coalesced;
  #lean: LeanSession | undefined;
  #updates: SessionUpdates | undefined;
  #version = '';
  #uses = 0;
  #lastUsed = performance.now();
  #isClosed = false;

  constructor(opened: Connection, options: HttpSessionOptions) {
    this.#principal = opened.principal;
    this.#options = options;
    this.#transport = new SessionTransport(this.id, new SentEvents(options.budget));
    this.#server = createServer(options.face, 'legacy', this.#withPush(opened));
    this.#server.onerror = (error) => {
      options.log.debug({ error: FabricError.from(error) }, 'mcp session');
    };
    const tell = (kind: string) => sendListChanged(this.#server, kind as ListKind);
    this.#changes = new Coalesced(tell, options.log);
  }

  get principalId(): string {
    return this.#principal.id;
  }

  /** Whether a request is open, or the client listens. */
  get isBusy(): boolean {
    return this.#uses > 0 || this.#transport.isListening;
  }

  /** For how long it has not been used, in milliseconds. */
  get idleMs(): number {
    return this.isBusy ? 0 : performance.now() - this.#lastUsed;
  }

  /** The handshake, after which the client knows the id of the session. */
  async initialize({ response, body }: HttpRequest, connection: Connection): Promise<void> {
    await this.#server.connect(this.#transport);
    await this.#using(() => this.#post(body as JSONRPCMessage, response, connection));
    this.#version = this.#server.getNegotiatedProtocolVersion() ?? '';
    this.#lean = this.#createLean();
  }

  async serve(exchange: HttpRequest, connection: Connection): Promise<void> {
    const { request, response, body } = exchange;
    this.#assertRevision(request.headers, body);
    switch (request.method) {
      case 'POST':
        return await this.#using(() => this.#serve(exchange, connection));
      case 'GET':
        return this.#listen(exchange);
      case 'DELETE':
        await this.close();
        return void response.writeHead(200).end();
      default:
        throw notAllowed();
    }
  }

  listChanged(kind: ListKind): void {
    if (this.#transport.hasListener) this.#changes.note(kind);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#changes.close();
    this.#updates?.close();
    this.#options.onClosed(this);
    await this.#transport.close();
  }

  async #serve(exchange: HttpRequest, connection: Connection): Promise<void> {
    const { request, response, body, principal } = exchange;
    const { face } = this.#options;
    const { headers } = request;
    const lean = this.#lean && readLeanCall(body, headers, face.catalog, principal);
    if (lean) return await serveLeanCall(lean, response, connection, face, this.#lean);
    const messages = [body].flat() as JSONRPCMessage[];
    if (Array.isArray(body)) this.#assertBatch(messages);
    for (const message of messages) this.#note(message);
    if (!messages.some(isRequest)) {
      for (const message of messages) this.#transport.receive(message);
      return void response.writeHead(202).end();
    }
    assertAccepts(headers, 'application/json', 'text/event-stream');
    await this.#post(body as JSONRPCMessage, response, connection);
  }

  #post(
    frame: JSONRPCMessage | readonly JSONRPCMessage[],
    response: ServerResponse,
    connection: Connection,
  ): Promise<void> {
    return this.#transport.post(frame, response, this.#primes, (answer) => ({
      authInfo: toAuthInfo({
        ...connection,
        room: () => answer.room(),
        cut: () => answer.cut(),
      }),
    }));
  }

  /** A shutdown waits for the rest of a call, but not for a client that only listens. */
  #listen({ request: { headers }, response, detach }: HttpRequest): void {
    assertAccepts(headers, 'text/event-stream');
    const { 'last-event-id': lastEventId } = headers;
    this.#touch();
    if (typeof lastEventId === 'string' && lastEventId !== '') {
      if (this.#transport.resume(lastEventId, response) === 'listening') detach();
      return;
    }
    detach();
    this.#transport.listen(response, this.#primes, () => this.#touch());
    this.#openUpdates();
  }

  get #primes(): boolean {
    return this.#version >= PRIMES;
  }

  async #using(work: () => Promise<void>): Promise<void> {
    this.#uses += 1;
    try {
      await work();
    } finally {
      this.#uses -= 1;
      this.#touch();
    }
  }

  #touch(): void {
    this.#lastUsed = performance.now();
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if (message.method === 'initialize') throw initializedTwice();
    if (message.method === 'logging/setLevel') this.#logLevel.set(message.params?.level);
  }

  #withPush(opened: Connection): Connection {
    const updates = () => this.#openUpdates();
    return {
      ...opened,
      push: true,
      get updates() {
        return updates();
      },
    };
  }

  /** Not before they are needed: most clients never follow a resource. */
  #openUpdates(): SessionUpdates | undefined {
    if (this.#isClosed) return undefined;
    this.#updates ??= this.#options.face.relay.openUpdates({
      principal: this.#principal,
      tellUpdated: (uri) => this.#server.sendResourceUpdated({ uri }),
      tellListChanged: () => this.#server.sendResourceListChanged(),
    });
    return this.#updates;
  }

  /** When the client has said what it can do. */
  #createLean(): LeanSession {
    const server = this.#server;
    const transport = this.#transport;
    const capabilities = declaredCapabilities(server);
    return {
      version: this.#version,
      declared: {
        [LOG_LEVEL_META_KEY]: 'debug',
        ...(capabilities && { [CLIENT_CAPABILITIES_META_KEY]: capabilities }),
      },
      wantsLog: (level) => this.#logLevel.wants(level),
      begin: (id, response, stop) => {
        transport.assertFree(id);
        const answer = transport.createAnswer(response, { primes: this.#primes, onGone: stop });
        transport.begin(id, answer, () => {
          stop();
          answer.finishAll([]);
        });
        return answer;
      },
      end: (id) => transport.end(id),
      ...(canAskAnything(server) && {
        answering: (run, requestId, signal) => answerInputs(run, { server, requestId, signal }),
      }),
    };
  }

  /** Clients in use send another older revision than was agreed on: that is let pass. */
  #assertRevision(headers: IncomingHttpHeaders, body: unknown): void {
    const named = headers['mcp-protocol-version'];
    const isOlder = named === undefined || OLDER_REVISIONS.has(named);
    if (!isOlder) throw otherRevision(named, this.#version);
    const claimed = claimedRevision(body);
    if (claimed !== undefined) throw otherRevision(claimed, this.#version);
  }

  #assertBatch(messages: readonly JSONRPCMessage[]): void {
    if (this.#version === BATCHES) return;
    throw new FabricError('BAD_INPUT', `Revision ${this.#version} has no batches`, {
      details: {
        reason: 'batch',
        messages: messages.length,
        rpc_code: INVALID_REQUEST,
        fix: 'Send each message by a POST of its own',
      },
    });
  }
}

/** The revision that a request names in its body; only the current one does so. */
export function claimedRevision(body: unknown): unknown {
  const { params } = (body ?? {}) as { params?: { _meta?: Record<string, unknown> } };
  return params?._meta?.[PROTOCOL_VERSION_META_KEY];
}

function isRequest(message: JSONRPCMessage): boolean {
  return 'method' in message && 'id' in message;
}

function assertAccepts({ accept = '' }: IncomingHttpHeaders, ...types: readonly string[]): void {
  if (accept.includes('*/*') || types.every((type) => accept.includes(type))) return;
  const fix = `Send "Accept: ${types.join(', ')}"`;
  throw new FabricError('BAD_INPUT', `The client must accept ${types.join(' and ')}`, {
    details: { reason: 'not_acceptable', http_status: 406, fix },
  });
}

function otherRevision(named: unknown, agreed: string): FabricError {
  const message = `The request is of revision ${String(named).slice(0, 32)}, the session of ${agreed}`;
  return new FabricError('BAD_INPUT', message, {
    details: {
      reason: 'header_mismatch',
      agreed,
      rpc_code: HEADER_MISMATCH,
      fix: 'Send the revision that initialize answered as MCP-Protocol-Version',
    },
  });
}

function initializedTwice(): FabricError {
  return new FabricError('BAD_INPUT', 'The session is initialized already', {
    details: {
      reason: 'initialized',
      rpc_code: INVALID_REQUEST,
      fix: 'Send initialize without Mcp-Session-Id to begin another session',
    },
  });
}

function notAllowed(): FabricError {
  const allow = 'GET, POST, DELETE';
  return new FabricError('BAD_INPUT', 'The method is not allowed here', {
    details: { reason: 'method_not_allowed', http_status: 405, allow, fix: `Use ${allow}` },
  });
}
