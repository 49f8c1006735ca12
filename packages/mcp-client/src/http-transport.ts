// Streamable HTTP, the client's side, over pooled undici connections. Speaks both eras: what the
// 2026-07-28 revision mirrors into headers comes from each message, what older ones keep per session is
// state of `HttpSession`.

import type {
  JSONRPCMessage,
  JSONRPCRequest,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client';
import { type FabricError, type Log, Roster } from '@starloom/core';
import { atTurnEnd, type Excerpt } from '@starloom/wire';
import { type Dispatcher, Pool } from 'undici';
import {
  type AgentTransport,
  type ExchangeOptions,
  isModern,
  isQuestion,
  type NumberedRequest,
  unsentExchange,
  withTrace,
} from './agent-transport.ts';
import { EndingStreams } from './ending-streams.ts';
import type { Exchange } from './exchange.ts';
import { HttpExchange } from './http-exchange.ts';
import { type Headers, postHeaders, type SessionHeaders, sessionHeaders } from './http-headers.ts';
import { HttpSession } from './http-session.ts';
import { HttpStream, type StreamListener } from './http-stream.ts';
import type { Authorization } from './oauth/authorization.ts';
import { type SendWith, sendAuthorized } from './oauth/authorized-stream.ts';
import { failure } from './reasons.ts';

export class HttpClientTransport implements AgentTransport {
  readonly kind = 'http';
  /** Tells the SDK that closing the stream of a request cancels it. */
  readonly hasPerRequestStream = true;
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  onidle?: (() => void) | undefined;
  onstray?: AgentTransport['onstray'];
  isDoubtful = false;
  failure: FabricError | undefined;

  readonly #endpoint: HttpEndpoint;
  readonly #session: HttpSession;
  readonly #exchanges = new Roster<Exchange>();
  readonly #ending = new EndingStreams();

  /** The endpoint is shared with transports before and after this one; not closed by it. */
  constructor(endpoint: HttpEndpoint, log: Log) {
    this.#endpoint = endpoint;
    this.#session = new HttpSession(endpoint, log, this.#receive);
  }

  get sessionId(): string | undefined {
    return this.#session.headers.sessionId;
  }

  get hasPush(): boolean {
    return this.#session.hasPush;
  }

  get openExchanges(): number {
    return this.#exchanges.size;
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#session.note({ protocolVersion: version });
  }

  exchange(request: NumberedRequest, { headers }: ExchangeOptions = {}): Exchange {
    if (this.failure) return unsentExchange(request.id, this.failure);
    const { exchange } = new HttpExchange(request, {
      endpoint: this.#endpoint,
      session: this.#session.headers,
      ending: this.#ending,
      headers,
      onOther: this.#receive,
      onRelease: (cancelled) => {
        this.#exchanges.remove(place);
        if (this.#exchanges.size === 0) this.onidle?.();
        if (cancelled) this.isDoubtful = true;
        if (cancelled && !this.failure && !isModern(request)) this.#session.cancel(request);
      },
    });
    const place = this.#exchanges.add(exchange);
    return exchange;
  }

  /** For the SDK: resolves when the message was accepted, and a request when it was answered. */
  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (this.failure) throw this.failure;
    await this.#session.send(message, options);
    const isReady = 'method' in message && message.method === 'notifications/initialized';
    if (isReady && !this.failure) this.#session.listen();
  }

  /** Open exchanges fail; a session is ended at the server, if that answers soon. */
  async close(reason: FabricError = failure('closed')): Promise<void> {
    if (this.failure) return;
    this.failure = reason;
    this.#ending.close();
    for (const exchange of this.#exchanges.members()) exchange.cancel(reason);
    this.#session.abort(reason);
    this.onclose?.();
    await this.#session.end();
  }

  readonly #receive = (message: JSONRPCMessage): void => {
    if (isQuestion(message)) this.#takeQuestion(message);
    else this.onmessage?.(message);
  };

  /** One that came on no call's stream belongs to the only call there is, or to none. */
  #takeQuestion(question: JSONRPCRequest): void {
    const [only, ...others] = this.#exchanges.members();
    const isOurs = only && others.length === 0 && !this.isDoubtful;
    if (isOurs) only.push(question, JSON.stringify(question).length);
    else this.onstray?.(question);
  }
}

export interface HttpEndpointOptions {
  readonly uri: string;
  /** Already checked; see `parseHeaders`. */
  readonly headers: Headers;
  readonly maxMessageBytes: number;
  readonly excerpt: Excerpt;
  /** Sockets at most; requests beyond that wait. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** Our certificate and the CA of the agent, where its configuration names them. */
  readonly tls?:
    | { readonly cert?: string; readonly key?: string; readonly ca?: string }
    | undefined;
  /** A request that belongs to no trace begins one. */
  readonly isTraced?: boolean;
  /** Brings the tokens, where the agent wants some. Closed with the endpoint. */
  readonly authorization?: Authorization | undefined;
}

/**
 * Where an agent listens, and what every request to it has in common. The connections are pooled and
 * outlive a session. The callers set the time limits.
 */
export class HttpEndpoint {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #options: HttpEndpointOptions;

  constructor(options: HttpEndpointOptions) {
    const url = new URL(options.uri);
    this.#path = `${url.pathname}${url.search}`;
    this.#options = options;
    this.#pool = new Pool(url.origin, {
      connections: options.connections,
      connectTimeout: options.connectTimeoutMs,
      connect: { ...options.tls },
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
  }

  post(
    message: JSONRPCMessage,
    session: SessionHeaders,
    listener: StreamListener,
    extra?: Readonly<Headers>,
  ): HttpStream {
    const sent = this.#options.isTraced ? withTrace(message) : message;
    const headers = postHeaders(this.#options.headers, extra, sent, session);
    const expects = 'method' in message && 'id' in message ? 'messages' : 'nothing';
    return this.#dispatch('POST', headers, JSON.stringify(sent), expects, listener);
  }

  /** The stream of a session, from after `lastEventId` on when that is given. */
  get(session: SessionHeaders, listener: StreamListener, lastEventId?: string): HttpStream {
    const headers = sessionHeaders(this.#options.headers, session, lastEventId);
    return this.#dispatch('GET', headers, null, 'messages', listener);
  }

  delete(session: SessionHeaders, listener: StreamListener): HttpStream {
    const headers = sessionHeaders(this.#options.headers, session);
    return this.#dispatch('DELETE', headers, null, 'nothing', listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#options.authorization?.close()]);
  }

  #dispatch(
    method: Dispatcher.HttpMethod,
    headers: Headers,
    body: string | null,
    expects: 'messages' | 'nothing',
    listener: StreamListener,
  ): HttpStream {
    const { authorization, maxMessageBytes, excerpt, uri } = this.#options;
    const stream = new HttpStream(listener, {
      maxMessageBytes,
      excerpt,
      expects,
      inSession: headers['mcp-session-id'] !== undefined,
      explain: authorization && ((refusal) => authorization.explainRefusal(refusal)),
    });
    const request = { path: this.#path, method, body };
    if (authorization) {
      const { tokens } = authorization;
      const send: SendWith = (credentials, handler) => {
        this.#pool.dispatch({ ...request, headers: { ...headers, ...credentials } }, handler);
      };
      void sendAuthorized({ stream, tokens, method, uri, send });
      return stream;
    }
    atTurnEnd(() => {
      if (stream.isOver) return;
      this.#pool.dispatch({ ...request, headers }, stream);
    });
    return stream;
  }
}
