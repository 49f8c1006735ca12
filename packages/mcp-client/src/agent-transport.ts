import type { JSONRPCRequest, Transport } from '@modelcontextprotocol/client';
import type { ErrorDetails, FabricError } from '@starloom/core';
import type { Exchange } from './exchange.ts';

/** Ids of our own requests start here; those of the SDK's client are small numbers or strings. */
export const FIRST_EXCHANGE_ID = 1_000_000;

/**
 * A transport that carries our own requests beside those of the SDK's client. The client makes and
 * keeps the connection; calls go past it, so that results and notifications arrive as they were
 * sent, in order, and with back-pressure.
 */
export interface AgentTransport extends Transport {
  readonly kind: 'http' | 'stdio';
  /** Why it closed; `undefined` while it has not. */
  readonly failure: FabricError | undefined;
  /** Can the agent say something that answers no request? */
  readonly hasPush: boolean;
  /** May a question belong to a call that was given up on? */
  readonly isDoubtful: boolean;
  readonly openExchanges: number;
  /** What the agent wrote and no request of ours asked for, as `details.upstream` has it. */
  printed?(): ErrorDetails;
  /** Called when the last open exchange is over. */
  onidle?: (() => void) | undefined;
  /** Called with a question that may belong to any of several calls, or to none. */
  onstray?: ((question: JSONRPCRequest) => void) | undefined;
  /** Never throws: what goes wrong ends the exchange. */
  exchange(request: NumberedRequest, options?: ExchangeOptions): Exchange;
  /** Exchanges still open end with `failure`; by default that the connection was closed. */
  close(failure?: FabricError): Promise<void>;
}

export interface ExchangeOptions {
  /** For HTTP only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** On whose behalf; an unknown principal equals no other. */
  readonly principal?: string | undefined;
}

export interface NumberedRequest extends JSONRPCRequest {
  readonly id: number;
}
