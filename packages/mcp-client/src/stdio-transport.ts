// An agent that is a child process, one JSON-RPC message a line. All its calls share one pipe: they
// are known by their ids, and a caller that does not read holds the others back too, once its
// own buffer is full. Messages reach an exchange in the order of the pipe, so that progress written
// right before a result is not lost (the SDK's client loses it).

import {
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
} from '@modelcontextprotocol/client';
import { type ErrorDetails, FabricError, type Log, toFields, tryParseJson } from '@starloom/core';
import {
  childEnvironment,
  type Excerpt,
  jsonExcess,
  type ManagedProcess,
  settlesWithin,
  spawnProcess,
  UPSTREAM_JSON_LIMITS,
} from '@starloom/wire';
import {
  type AgentTransport,
  cancellationOf,
  type ExchangeOptions,
  FIRST_EXCHANGE_ID,
  isNotification,
  isQuestion,
  type NumberedRequest,
  unsentExchange,
  withTrace,
} from './agent-transport.ts';
import { Exchange, isResponse, parseMessages, type RpcResponse } from './exchange.ts';
import { metaOf } from './http-headers.ts';
import { failure } from './reasons.ts';

const MAX_UNWRITTEN_BYTES = 64 * 1_048_576;
const MAX_STRAY_BYTES = 1_048_576;
/** Of what an agent writes to stdout before its first answer. */
const MAX_PRINTED_LENGTH = 4_096;
/** How long the exit of a process is waited for that takes no more input. */
const EXIT_MS = 2_000;
const PER_REQUEST: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
]);
/** The requests in which the protocol lets an agent ask. */
const ASKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

export interface StdioTransportOptions {
  /** The agent that the program is. */
  readonly agentId?: string | undefined;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** That of the gateway by default. */
  readonly cwd?: string | undefined;
  readonly maxMessageBytes: number;
  /** A request that belongs to no trace begins one. */
  readonly isTraced?: boolean;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

export class StdioClientTransport implements AgentTransport {
  readonly kind = 'stdio';
  readonly hasPush = true;
  /** With `pid`, how the SDK knows a child process when it negotiates the version. */
  readonly stderr = null;
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  onmessage?: Transport['onmessage'];
  onidle?: (() => void) | undefined;
  onstray?: AgentTransport['onstray'];
  failure: FabricError | undefined;

  readonly #options: StdioTransportOptions;
  readonly #exchanges = new Map<unknown, Exchange>();
  /** Those in which the agent may ask, with their principals. */
  readonly #asking = new Map<Exchange, string | undefined>();
  /** Cancelled calls that the agent may still work on and ask for, with their principals. */
  readonly #abandoned = new Map<unknown, string | undefined>();
  /** Ids of exchanges that stay open for what was subscribed to. */
  readonly #subscriptions = new Set<unknown>();
  readonly #gate = new ReadGate();
  #process: ManagedProcess | undefined;
  #reading: Promise<void> = Promise.resolve();
  #strayBytes = 0;
  /** Until its first answer; then it speaks the protocol. */
  #printed: string | undefined = '';

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get isDoubtful(): boolean {
    return this.#abandoned.size > 0;
  }

  get openExchanges(): number {
    return this.#exchanges.size;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, maxMessageBytes, agentId, log } = this.#options;
    const child = await spawnProcess({
      command,
      args,
      env: childEnvironment({ extra: env }),
      ...(cwd !== undefined && { cwd }),
      ...(agentId !== undefined && { agentId }),
      graceMs: 2_000,
      limits: { maxLineBytes: maxMessageBytes },
      onStderrLine: (line) => log.debug({ line }, 'agent stderr'),
    });
    this.#process = child;
    if (this.failure) await child.stop();
    else this.#reading = this.#read(child);
  }

  exchange(request: NumberedRequest, { principal }: ExchangeOptions = {}): Exchange {
    const child = this.#process;
    const refusal = this.#refusal(child);
    if (refusal || !child) return unsentExchange(request.id, refusal ?? failure('closed'));
    const exchange = new Exchange(request.id, {
      pause: () => this.#gate.hold(exchange),
      resume: () => this.#gate.release(exchange),
      release: (cancelled) => {
        this.#exchanges.delete(exchange.id);
        const mayAsk = this.#asking.delete(exchange);
        this.#subscriptions.delete(exchange.id);
        this.#gate.release(exchange);
        if (this.#exchanges.size === 0) this.onidle?.();
        if (!cancelled || this.failure) return;
        if (mayAsk) this.#abandoned.set(request.id, principal);
        this.#notifyCancelled(request);
      },
    });
    this.#exchanges.set(exchange.id, exchange);
    if (ASKING.has(request.method)) this.#asking.set(exchange, principal);
    if (request.method === 'subscriptions/listen') this.#subscriptions.add(exchange.id);
    this.#write(child, request).catch((error: unknown) => exchange.fail(FabricError.from(error)));
    return exchange;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#process;
    const refusal = this.#refusal(child);
    if (refusal || !child) throw refusal ?? failure('closed');
    await this.#write(child, message);
  }

  async close(reason: FabricError = failure('closed')): Promise<void> {
    this.#end(reason);
    await this.#process?.stop();
  }

  printed(): ErrorDetails {
    const { excerpt } = this.#options;
    const stdout = excerpt(this.#printed ?? '', 'tail');
    const stderr = excerpt(this.#process?.stderrTail() ?? '', 'tail');
    return { ...(stderr !== '' && { stderr }), ...(stdout !== '' && { stdout }) };
  }

  async #read(child: ManagedProcess): Promise<void> {
    try {
      for await (const line of child.lines()) {
        this.#accept(line);
        if (this.#gate.isHeld) await this.#gate.whenOpen();
      }
      if (!this.failure) {
        const upstream = { ...(await child.lastWords(this.#options.excerpt)), ...this.printed() };
        this.#end(failure('process_ended', { upstream }));
      }
    } catch (error) {
      this.#end(FabricError.from(error));
    }
    const exit = await child.stop();
    this.#options.log.debug({ ...exit, pid: child.pid }, 'agent process ended');
  }

  #accept(line: string): void {
    if (line === '') return;
    if (this.#printed !== undefined) {
      const added = `${this.#printed}${line.slice(0, MAX_PRINTED_LENGTH)}\n`;
      this.#printed = added.slice(-MAX_PRINTED_LENGTH);
    }
    try {
      for (const message of parseMessages(line)) this.#route(message, line.length);
      this.#strayBytes = 0;
    } catch (error) {
      const failure = FabricError.from(error);
      const exchange = this.#exchanges.get(idIn(line));
      if (exchange) exchange.fail(failure);
      else this.#tolerate(line, failure);
    }
  }

  /** Many programs greet on stdout before they speak the protocol; few do so at length. */
  #tolerate(line: string, error: FabricError): void {
    this.#strayBytes += line.length + 1;
    if (this.#strayBytes > MAX_STRAY_BYTES) throw error;
    this.#options.log.debug({ line: line.slice(0, 200) }, 'agent wrote something else to stdout');
  }

  #route(message: JSONRPCMessage, bytes: number): void {
    if (isResponse(message)) this.#answer(message);
    else if (isNotification(message)) this.#notify(message, bytes);
    else if (isQuestion(message)) this.#takeQuestion(message, bytes);
    else this.onmessage?.(message);
  }

  /** An answer that no request waits for, late or given twice, is dropped. */
  #answer(response: RpcResponse): void {
    const exchange = this.#exchanges.get(response.id);
    this.#printed = undefined;
    this.#abandoned.delete(response.id);
    if (exchange) exchange.settle(response);
    else if (!isOurs(response.id)) setImmediate(() => this.onmessage?.(response));
  }

  #notify(notification: JSONRPCNotification, bytes: number): void {
    const { method } = notification;
    const exchange = this.#exchangeOf(notification);
    if (exchange) exchange.push(notification, bytes);
    else if (!PER_REQUEST.has(method)) this.onmessage?.(notification);
    else this.#options.log.debug({ method }, 'agent notification of no open call');
  }

  /**
   * A question names no request: it belongs to the only call that may ask, whatever else runs. A call
   * that was given up on may ask late; agents do not answer it, so that doubt stays. Its question goes
   * to the same principal then, never to another.
   */
  #takeQuestion(question: JSONRPCRequest, bytes: number): void {
    const [first, ...others] = this.#asking.keys();
    const only = others.length === 0 ? (first ?? this.#onlyCall()) : undefined;
    if (only && !this.#mayBelongToAnother(this.#asking.get(only))) only.push(question, bytes);
    else this.onstray?.(question);
  }

  #mayBelongToAnother(principal: string | undefined): boolean {
    if (principal === undefined) return this.isDoubtful;
    return [...this.#abandoned.values()].some((owner) => owner !== principal);
  }

  /** A log message names no request: it belongs to the call that runs alone, or to none. */
  #exchangeOf(notification: JSONRPCNotification): Exchange | undefined {
    const { method, params } = notification;
    const subscribed = this.#exchanges.get(metaOf(notification)[SUBSCRIPTION_ID_META_KEY]);
    if (subscribed) return subscribed;
    if (method === 'notifications/progress') return this.#exchanges.get(params?.progressToken);
    return method === 'notifications/message' ? this.#onlyCall() : undefined;
  }

  /** The call that runs alone, beside subscriptions. */
  #onlyCall(): Exchange | undefined {
    const [only, ...others] = [...this.#exchanges.values()].filter(
      (exchange) => !this.#subscriptions.has(exchange.id),
    );
    return others.length === 0 ? only : undefined;
  }

  #refusal(child: ManagedProcess | undefined): FabricError | undefined {
    if (this.failure || !child) return this.failure;
    if (child.stdin.writableLength <= MAX_UNWRITTEN_BYTES) return undefined;
    return failure('stdin_full');
  }

  #notifyCancelled(request: NumberedRequest): void {
    this.send(cancellationOf(request, 'the caller left')).catch((cause: unknown) => {
      this.#options.log.debug({ cause: String(cause) }, 'could not ask the agent to stop');
    });
  }

  /** A process that takes no more input is usually about to end: its exit explains more. */
  async #write(child: ManagedProcess, message: JSONRPCMessage): Promise<void> {
    const sent = this.#options.isTraced ? withTrace(message) : message;
    try {
      await child.write(`${JSON.stringify(sent)}\n`);
    } catch (error) {
      await settlesWithin(this.#reading, EXIT_MS);
      throw this.failure ?? error;
    }
  }

  #end(reason: FabricError): void {
    if (this.failure) return;
    this.failure = reason;
    this.#gate.open();
    for (const exchange of [...this.#exchanges.values()]) exchange.fail(reason);
    this.onclose?.();
  }
}

/** The call that a malformed answer is for, as far as it says. */
function idIn(line: string): unknown {
  if (jsonExcess(line, UPSTREAM_JSON_LIMITS)) return outerIdIn(line);
  return toFields(tryParseJson(line)).id;
}

/** The same without parsing: where programs write it, first or last in the message. */
function outerIdIn(line: string): number | undefined {
  const found = /^\{(?:"jsonrpc":"2\.0",)?"id":(\d{1,15}),/.exec(line.slice(0, 64));
  const [, id] = found ?? /,"id":(\d{1,15})\}$/.exec(line.slice(-64)) ?? [];
  return id === undefined ? undefined : Number(id);
}

function isOurs(id: unknown): boolean {
  return typeof id === 'number' && id >= FIRST_EXCHANGE_ID;
}

/** Open unless a reader holds it. */
class ReadGate {
  readonly #holders = new Set<object>();
  #opened = Promise.withResolvers<void>();

  get isHeld(): boolean {
    return this.#holders.size > 0;
  }

  whenOpen(): Promise<void> {
    return this.isHeld ? this.#opened.promise : Promise.resolve();
  }

  hold(holder: object): void {
    if (!this.isHeld) this.#opened = Promise.withResolvers();
    this.#holders.add(holder);
  }

  release(holder: object): void {
    if (this.#holders.delete(holder) && !this.isHeld) this.#opened.resolve();
  }

  /** Opens the gate for all readers that hold it. */
  open(): void {
    this.#holders.clear();
    this.#opened.resolve();
  }
}
