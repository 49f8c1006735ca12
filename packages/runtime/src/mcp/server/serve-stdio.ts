import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ReadBuffer,
  type RequestId,
  type Server,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { FabricError } from '@starloom/core';
import { sendListChanged } from '@starloom/mcp-client/server';
import { settlesWithin } from '@starloom/wire';
import { createServer } from './create-server.ts';
import type { AgentMcpFace } from './mcp-face.ts';

export interface StdioFace {
  /** Resolves when the client is gone, and has the answers to what it asked. */
  readonly closed: Promise<void>;
  /** Takes nothing new, gives what runs a moment to end, and cuts the rest off. */
  close(): Promise<void>;
}

/** After the end of the input; a call has a time limit of its own, usually a shorter one. */
const ANSWER_MS = 30_000;
const DRAIN_MS = 5_000;

/** The agent as MCP server of one client, over a pair of streams. */
export function serveMcpStdio(face: AgentMcpFace, input: Readable, output: Writable): StdioFace {
  const servers = new Set<Server>();
  const transport = new StdioTransport(input, output, ANSWER_MS);
  const handle = serveStdio(
    () => {
      const server = createServer(face, { hasPush: true, headers: {} });
      servers.add(server);
      return server;
    },
    { transport, onerror: (error) => face.log.debug({ error: error.message }, 'mcp') },
  );
  const stop = face.onListChanged((kind) => {
    for (const server of servers) sendListChanged(server, kind).catch(() => {});
  });
  return {
    closed: transport.closed.then(stop),
    async close() {
      await transport.finish(DRAIN_MS);
      await handle.close();
    },
  };
}

const MAX_MESSAGE_BYTES = 4_194_304;
/** Stays open until it is cancelled: no client waits for its answer. */
const SUBSCRIBE = 'subscriptions/listen';

/**
 * A pair of streams as a connection of the SDK. Beyond the SDK's own transport it answers, within a bound,
 * the requests that came before the input ended, and closes then.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when it is closed, by either side. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #drainMs: number;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  readonly #unanswered = new Set<RequestId>();
  readonly #gone = Promise.withResolvers<void>();
  #answered: PromiseWithResolvers<void> | undefined;
  #isEnded = false;
  #isClosed = false;

  constructor(input: Readable, output: Writable, drainMs: number) {
    this.#input = input;
    this.#output = output;
    this.#drainMs = drainMs;
    this.closed = this.#gone.promise;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#receive);
    this.#input.once('end', this.#end);
    this.#input.once('close', this.#end);
    this.#input.on('error', this.#fail);
    this.#output.on('error', this.#fail);
    if (this.#input.readableEnded || this.#input.destroyed) this.#end();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new FabricError('CANCELLED', 'The client is gone');
    const hasRoom = this.#output.write(serializeMessage(message));
    if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    if (!hasRoom) await Promise.race([once(this.#output, 'drain'), this.closed]);
  }

  /** Takes nothing new, and gives what was asked up to `ms`; at the input's end it has had its time. */
  async finish(ms: number): Promise<void> {
    this.#input.off('data', this.#receive);
    if (!this.#isEnded) await this.#untilAnswered(ms);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off('data', this.#receive);
    this.#input.pause();
    this.#answered?.resolve();
    this.onclose?.();
    this.#gone.resolve();
  }

  readonly #receive = (chunk: Buffer): void => {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.#fail(FabricError.from(error));
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.#note(message);
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(FabricError.from(error));
      }
    }
  };

  readonly #end = (): void => {
    if (this.#isEnded) return;
    this.#isEnded = true;
    void this.#untilAnswered(this.#drainMs).then(() => this.close());
  };

  readonly #fail = (error: Error): void => {
    this.onerror?.(error);
    void this.close();
  };

  #note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message) && message.method !== SUBSCRIBE) this.#unanswered.add(message.id);
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      this.#settle(message.params?.requestId as RequestId);
    }
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#answered?.resolve();
  }

  async #untilAnswered(ms: number): Promise<void> {
    if (this.#unanswered.size === 0) return;
    this.#answered ??= Promise.withResolvers();
    await settlesWithin(this.#answered.promise, ms);
  }
}
