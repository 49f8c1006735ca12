// Streamable HTTP, the client's side, over pooled undici connections. Speaks both eras: what the
// 2026-07-28 revision mirrors into headers comes from each message, what older ones keep per session
// (its id, the agreed version, the GET stream, DELETE at the end) is state of this object.

import type {
  JSONRPCMessage,
  JSONRPCRequest,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client';
import { type FabricError, type Log, Roster } from '@starloom/core';
import type { AgentTransport, ExchangeOptions, NumberedRequest } from './agent-transport.ts';
import { closedFailure } from './closed-failure.ts';
import { EndingStreams } from './ending-streams.ts';
import { type Exchange, unsentExchange } from './exchange.ts';
import type { HttpEndpoint } from './http-endpoint.ts';
import { HttpExchange } from './http-exchange.ts';
import type { SessionHeaders } from './http-headers.ts';
import { HttpListener } from './http-listener.ts';
import { HttpSending } from './http-sending.ts';
import { cancellationOf, isModern, isQuestion } from './json-rpc.ts';

const CANCEL_TIMEOUT_MS = 5_000;
const DELETE_TIMEOUT_MS = 1_000;

export interface HttpTransportOptions {
  /** Shared with transports before and after this one; not closed by it. */
  readonly endpoint: HttpEndpoint;
  readonly log: Log;
}

export class HttpClientTransport implements AgentTransport {
  readonly kind = 'http';
  /** Tells the SDK that closing the stream of a request cancels it. */
  readonly hasPerRequestStream = true;
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  onidle?: (() => void) | undefined;
  onstray?: AgentTransport['onstray'];
  sessionId: string | undefined;
  isDoubtful = false;
  failure: FabricError | undefined;

  readonly #endpoint: HttpEndpoint;
  readonly #log: Log;
  readonly #exchanges = new Roster<Exchange>();
  readonly #sendings = new Set<HttpSending>();
  readonly #ending = new EndingStreams();
  #protocolVersion: string | undefined;
  #listener: HttpListener | undefined;

  constructor(options: HttpTransportOptions) {
    this.#endpoint = options.endpoint;
    this.#log = options.log;
  }

  get hasPush(): boolean {
    return this.#listener?.isOpen ?? false;
  }

  get openExchanges(): number {
    return this.#exchanges.size;
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
  }

  exchange(request: NumberedRequest, { headers }: ExchangeOptions = {}): Exchange {
    if (this.failure) return unsentExchange(request.id, this.failure);
    const { exchange } = new HttpExchange(request, {
      endpoint: this.#endpoint,
      session: this.#session(),
      ending: this.#ending,
      headers,
      onOther: this.#receive,
      onRelease: (cancelled) => {
        this.#exchanges.remove(place);
        if (this.#exchanges.size === 0) this.onidle?.();
        if (cancelled) this.isDoubtful = true;
        if (cancelled && !this.failure && !isModern(request)) this.#tellCancelled(request);
      },
    });
    const place = this.#exchanges.add(exchange);
    return exchange;
  }

  /** For the SDK: resolves when the message was accepted, and a request when it was answered. */
  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (this.failure) throw this.failure;
    const isHandshake = 'method' in message && message.method === 'initialize';
    const sending = new HttpSending(message, {
      endpoint: this.#endpoint,
      session: isHandshake ? { ...this.#session(), sessionId: undefined } : this.#session(),
      headers: options.headers,
      signal: options.requestSignal,
      onSession: (sessionId) => {
        if (isHandshake) this.sessionId = sessionId;
      },
      onMessage: this.#receive,
    });
    this.#sendings.add(sending);
    try {
      await sending.done;
    } finally {
      this.#sendings.delete(sending);
    }
    if ('method' in message && message.method === 'notifications/initialized') this.#listen();
  }

  /** Open exchanges fail; a session is ended at the server, if that answers soon. */
  async close(failure: FabricError = closedFailure()): Promise<void> {
    if (this.failure) return;
    this.failure = failure;
    this.#listener?.close();
    this.#ending.close();
    for (const exchange of this.#exchanges.members()) exchange.cancel(failure);
    for (const sending of [...this.#sendings]) sending.abort(failure);
    this.onclose?.();
    if (this.sessionId !== undefined) await this.#endSession();
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

  #session(): SessionHeaders {
    return { sessionId: this.sessionId, protocolVersion: this.#protocolVersion };
  }

  #listen(): void {
    if (this.failure) return;
    const session = this.#session();
    this.#listener = new HttpListener({
      open: (listener, lastEventId) => this.#endpoint.get(session, listener, lastEventId),
      onMessage: this.#receive,
    });
  }

  #tellCancelled(request: NumberedRequest): void {
    const requestSignal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    const cancellation = cancellationOf(request, 'the caller left');
    this.send(cancellation, { requestSignal }).catch((cause: unknown) => {
      this.#log.debug({ cause: String(cause) }, 'could not notify the agent of a cancellation');
    });
  }

  async #endSession(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const onClose = () => resolve();
    const stream = this.#endpoint.delete(this.#session(), { onMessage: () => {}, onClose });
    const timer = setTimeout(resolve, DELETE_TIMEOUT_MS);
    await promise;
    clearTimeout(timer);
    stream.abort(closedFailure());
  }
}
