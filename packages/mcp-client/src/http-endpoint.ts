// Where an agent listens, and what every request to it has in common. The connections are pooled
// and outlive a session; time limits are the callers', so none is set here.

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { atTurnEnd, type Excerpt } from '@starloom/wire';
import { type Dispatcher, Pool } from 'undici';
import { type Headers, postHeaders, type SessionHeaders, sessionHeaders } from './http-headers.ts';
import { HttpStream, type StreamListener } from './http-stream.ts';
import type { Authorization } from './oauth/authorization.ts';
import { sendAuthorized } from './oauth/authorized-stream.ts';
import { traced } from './traced-message.ts';

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

export class HttpEndpoint {
  readonly #pool: Pool;
  readonly #uri: string;
  readonly #path: string;
  readonly #headers: Headers;
  readonly #maxMessageBytes: number;
  readonly #excerpt: Excerpt;
  readonly #isTraced: boolean;
  readonly #authorization: Authorization | undefined;

  constructor(options: HttpEndpointOptions) {
    const url = new URL(options.uri);
    this.#uri = options.uri;
    this.#path = `${url.pathname}${url.search}`;
    this.#headers = options.headers;
    this.#maxMessageBytes = options.maxMessageBytes;
    this.#excerpt = options.excerpt;
    this.#isTraced = options.isTraced ?? false;
    this.#authorization = options.authorization;
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
    const sent = this.#isTraced ? traced(message) : message;
    const headers = postHeaders(this.#headers, extra, sent, session);
    const expects = 'method' in message && 'id' in message ? 'messages' : 'nothing';
    return this.#dispatch('POST', headers, JSON.stringify(sent), expects, listener);
  }

  /** The stream of a session, from after `lastEventId` on when that is given. */
  get(session: SessionHeaders, listener: StreamListener, lastEventId?: string): HttpStream {
    const headers = sessionHeaders(this.#headers, session, lastEventId);
    return this.#dispatch('GET', headers, null, 'messages', listener);
  }

  delete(session: SessionHeaders, listener: StreamListener): HttpStream {
    const headers = sessionHeaders(this.#headers, session);
    return this.#dispatch('DELETE', headers, null, 'nothing', listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#authorization?.close()]);
  }

  #dispatch(
    method: Dispatcher.HttpMethod,
    headers: Headers,
    body: string | null,
    expects: 'messages' | 'nothing',
    listener: StreamListener,
  ): HttpStream {
    const authorization = this.#authorization;
    const stream = new HttpStream(listener, {
      maxMessageBytes: this.#maxMessageBytes,
      excerpt: this.#excerpt,
      expects,
      inSession: headers['mcp-session-id'] !== undefined,
      refused: authorization && ((failure) => authorization.refused(failure)),
    });
    const request = { path: this.#path, method, body };
    if (authorization) {
      const { tokens } = authorization;
      void sendAuthorized({
        stream,
        tokens,
        method,
        uri: this.#uri,
        send: (credentials, handler) => {
          this.#pool.dispatch({ ...request, headers: { ...headers, ...credentials } }, handler);
        },
      });
      return stream;
    }
    atTurnEnd(() => {
      if (stream.isOver) return;
      this.#pool.dispatch({ ...request, headers }, stream);
    });
    return stream;
  }
}
