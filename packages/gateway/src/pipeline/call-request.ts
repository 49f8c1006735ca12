import type { Attachment, CallContext, Envelope, FabricEvent } from '@starloom/core';
import type { Principal } from '@starloom/identity';

/** What a caller asks for, whichever face it came through, with every default filled in. */
export interface CallRequest {
  readonly agentId?: string | undefined;
  readonly capability: string;
  readonly task: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly context: Record<string, unknown>;
  readonly attachments: Attachment[];
  readonly stream: boolean;
  readonly format: Envelope['response']['format'];
  /** Bounds each attempt; by default what the capability says of itself. */
  readonly timeoutMs?: number | undefined;
  /** Bounds the whole call; by default three attempts. */
  readonly deadlineMs?: number | undefined;
  readonly sessionId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly relay?: Record<string, unknown> | undefined;
}

/** Who calls and how: what a transport knows of one request. */
export interface Caller {
  readonly principal: Principal;
  /** What the request carried beside its arguments; header names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly transport: 'http' | 'ws' | 'stdio';
  /** Name of the tool, for logs and spans. */
  readonly tool: string;
  readonly protocolVersion?: string | undefined;
  readonly requestId?: string | number | undefined;
  /** What came beside the arguments, for agents of the same protocol. */
  readonly relay?: Record<string, unknown> | undefined;
  /** Passes on a notification of the agent's own protocol, where the caller speaks it too. */
  readonly notify?: CallContext['notify'];
  /** Aborted when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  /**
   * Writes one event to the caller; resolves when there is room for the next. Absent when the
   * caller did not ask for events.
   */
  readonly send?: ((event: FabricEvent) => Promise<void>) | undefined;
  /** Ends the connection to a caller that does not read what it asked for. */
  readonly cut: () => void;
}
