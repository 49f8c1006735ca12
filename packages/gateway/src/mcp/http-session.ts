// The session of one older client over HTTP: its requests, the stream it listens on, and what it said
// of itself when it connected. Calls of tools go by the lean lane, everything else by the SDK.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type JSONRPCMessage,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  type Server,
} from '@modelcontextprotocol/server';
import { FabricError, type Json, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { type ListKind, sendListChanged } from '@starloom/mcp-client/server';
import { failure } from '../reasons.ts';
import { type EventBudget, SentEvents } from '../transports/event-log.ts';
import type { HttpRequest } from '../transports/routes.ts';
import { SessionTransport } from '../transports/session-transport.ts';
import {
  answerInputs,
  ClientLogLevel,
  canAskAnything,
  declaredCapabilities,
} from './client-side.ts';
import { type Connection, toAuthInfo } from './connection.ts';
import {
  findLeanTool,
  type LeanSession,
  OLDER_REVISIONS,
  serveLeanCall,
  type ToolCallMessage,
} from './lean-lane.ts';
import { createServer, type McpFace } from './server-factory.ts';
import { Coalesced, type SessionUpdates } from './session-updates.ts';
import type { HandshakeParams, SessionState, SharedSessions } from './shared-sessions.ts';

interface HttpSessionOptions {
  readonly id: string;
  /** Names the session among the gateways of a realm. */
  readonly nonce?: string | undefined;
  /** Other gateways, at which the session is good, too. */
  readonly shared?: SharedSessions | undefined;
  readonly face: McpFace;
  readonly log: Log;
  readonly budget: EventBudget;
  /** A request of it ended, or the client began or stopped to listen. */
  readonly onUsed: (session: HttpSession) => void;
  /** Called once. */
  readonly onClosed: (session: HttpSession) => void;
}

/** The only revision that has batches. */
const BATCHES = '2025-03-26';
/** From here on a stream may begin with an empty event. */
const PRIMES = '2025-11-25';

export class HttpSession {
  readonly id: string;
  readonly nonce: string;
  readonly #principal: Principal;
  readonly #options: HttpSessionOptions;
  readonly #server: Server;
  readonly #transport: SessionTransport;
  readonly #logLevel = new ClientLogLevel();
  readonly #changes: Coalesced;
  #lean: LeanSession | undefined;
  #updates: SessionUpdates | undefined;
  #version = '';
  #state: SessionState = { isClosed: false, uris: [] };
  #uses = 0;
  #lastUsed = performance.now();
  #isClosed = false;

  constructor(opened: Connection, options: HttpSessionOptions) {
    this.#principal = opened.principal;
    this.#options = options;
    const { id, nonce = id, shared, budget } = options;
    this.id = id;
    this.nonce = nonce;
    const events = new SentEvents(budget, undefined, shared && `${shared.tag}.`);
    this.#transport = new SessionTransport(id, events, shared?.tag);
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

  /** Takes up a session that began at another gateway. */
  async adopt(params: HandshakeParams, state: SessionState): Promise<void> {
    await this.#server.connect(this.#transport);
    await this.#transport.replay('initialize', { ...params });
    this.#transport.receive({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.#version = this.#server.getNegotiatedProtocolVersion() ?? '';
    this.#lean = this.#createLean();
    await this.follow(state);
  }

  /** What the client said at other gateways. */
  async follow({ isClosed, level, uris }: SessionState): Promise<void> {
    if (isClosed) return await this.close();
    const before = this.#state;
    this.#state = { isClosed, level, uris };
    if (level !== undefined && level !== before.level) {
      this.#logLevel.set(level);
      await this.#transport.replay('logging/setLevel', { level });
    }
    const added = uris.filter((uri) => !before.uris.includes(uri));
    const gone = before.uris.filter((uri) => !uris.includes(uri));
    // An agent may take its time: no request waits for it.
    for (const uri of added) void this.#transport.replay('resources/subscribe', { uri });
    for (const uri of gone) void this.#transport.replay('resources/unsubscribe', { uri });
  }

  /** A message of the client that came to another gateway. */
  receive(message: JSONRPCMessage): void {
    if (this.#transport.holderOf(message) === 'here') this.#transport.receive(message);
  }

  /** Continues a stream of this gateway; throws when the event is not known. */
  resume(eventId: string, response: ServerResponse): 'listening' | 'call' {
    return this.#transport.resume(eventId, response);
  }

  async serve(exchange: HttpRequest, connection: Connection): Promise<void> {
    const { request, response, body } = exchange;
    this.#assertRevision(request.headers, body);
    switch (request.method) {
      case 'POST':
        return await this.#using(() => this.#serve(exchange, connection));
      case 'GET':
        return await this.#listen(exchange);
      case 'DELETE':
        await this.#options.shared?.change(this.nonce, (state) => ({ ...state, isClosed: true }));
        await this.close();
        return void response.writeHead(200).end();
      default:
        throw failure('method_not_allowed', { allow: 'GET, POST, DELETE' });
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
    const tool = this.#lean && findLeanTool(body, headers, face.catalog, principal);
    if (tool) {
      const message = body as ToolCallMessage;
      return await serveLeanCall(tool, message, response, connection, face, this.#lean);
    }
    const messages = [body].flat() as JSONRPCMessage[];
    if (Array.isArray(body)) this.#assertBatch(messages);
    for (const message of messages) await this.#note(message);
    if (!messages.some(isRequest)) {
      for (const message of messages) await this.#receive(message);
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

  /** Where another gateway asked, or has the call, the message is for that one. */
  async #receive(message: JSONRPCMessage): Promise<void> {
    const { shared } = this.#options;
    const holder = shared ? this.#transport.holderOf(message) : 'here';
    if (holder === 'here') return this.#transport.receive(message);
    await shared?.relay(this.nonce, message as Json, holder === 'any' ? undefined : holder);
  }

  /** A shutdown waits for the rest of a call, but not for a client that only listens. */
  async #listen({ request: { headers }, response, detach }: HttpRequest): Promise<void> {
    assertAccepts(headers, 'text/event-stream');
    const { 'last-event-id': lastEventId } = headers;
    this.#touch();
    if (typeof lastEventId === 'string' && lastEventId !== '') {
      const isOver = await this.#continue(lastEventId, response, detach);
      if (!isOver) return;
    } else detach();
    this.#transport.listen(response, this.#primes, () => this.#touch());
    this.#openUpdates();
  }

  /** True when what the client listened on is gone with its gateway: it listens here then. */
  async #continue(id: string, response: ServerResponse, detach: () => void): Promise<boolean> {
    const { shared } = this.#options;
    const [, tag, isListener] = /^([0-9a-f]{8})\.(l)?/.exec(id) ?? [];
    if (!shared || tag === undefined || tag === shared.tag) {
      if (this.resume(id, response) === 'listening') detach();
      return false;
    }
    detach();
    if (await shared.resume(this.nonce, tag, id, response)) return false;
    if (isListener) return true;
    throw failure('unknown_event', { last_event_id: id.slice(0, 64) });
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
    this.#options.onUsed(this);
  }

  async #note(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) return;
    const { method, params } = message;
    if (method === 'initialize') throw failure('initialized');
    if (method === 'logging/setLevel') this.#logLevel.set(params?.level);
    const edit = stateChange(method, params);
    if (!edit) return;
    this.#state = edit(this.#state);
    await this.#options.shared?.change(this.nonce, edit);
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
    const other = isOlder ? claimedRevision(body) : named;
    if (other === undefined) return;
    const facts = { named: String(other).slice(0, 32), agreed: this.#version };
    throw failure('header_mismatch/revision', facts);
  }

  #assertBatch(messages: readonly JSONRPCMessage[]): void {
    if (this.#version === BATCHES) return;
    throw failure('batch', { revision: this.#version, messages: messages.length });
  }
}

/** The revision that a request names in its body; only the current one does so. */
export function claimedRevision(body: unknown): unknown {
  const { params } = (body ?? {}) as { params?: { _meta?: Record<string, unknown> } };
  return params?._meta?.[PROTOCOL_VERSION_META_KEY];
}

/** What a request changes for all gateways; nothing for most. */
function stateChange(
  method: string,
  { level, uri }: Record<string, unknown> = {},
): ((state: SessionState) => SessionState) | undefined {
  if (method === 'logging/setLevel') return (state) => ({ ...state, level: String(level) });
  const others = ({ uris }: SessionState) => uris.filter((each) => each !== uri);
  if (method === 'resources/unsubscribe') return (state) => ({ ...state, uris: others(state) });
  if (method !== 'resources/subscribe' || typeof uri !== 'string') return undefined;
  return (state) => ({ ...state, uris: [...others(state), uri] });
}

function isRequest(message: JSONRPCMessage): boolean {
  return 'method' in message && 'id' in message;
}

function assertAccepts({ accept = '' }: IncomingHttpHeaders, ...types: readonly string[]): void {
  if (accept.includes('*/*') || types.every((type) => accept.includes(type))) return;
  throw failure('not_acceptable', { types: types.join(', ') });
}
