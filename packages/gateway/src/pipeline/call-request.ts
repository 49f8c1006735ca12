import type {
  Attachment,
  CallContext,
  Envelope,
  FabricEvent,
  GivenInput,
  InputRequest,
  StoredJob,
  TrustTier,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import type { EventPlace } from '@starloom/mcp-client/server';
import type { Ends } from '@starloom/wire';
import type { ActiveRequest, CallStart } from '../observe/observer.ts';
import type { ToolResult } from './respond.ts';

/** What a caller asks for, spelled as `fabric.call` takes it, with every default filled in. */
export interface CallRequest {
  readonly agent_id?: string | undefined;
  readonly capability: string;
  readonly task: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly context: Record<string, unknown>;
  readonly attachments: Attachment[];
  readonly stream: boolean;
  readonly format: Envelope['response']['format'];
  /** Bounds each attempt; by default what the capability says of itself. */
  readonly timeout_ms?: number | undefined;
  /** Bounds the whole call; by default three attempts. */
  readonly deadline_ms?: number | undefined;
  readonly session_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
  /** Goes on with a conversation, or with a call that waits for answers. */
  readonly conversation_id?: string | undefined;
  readonly inputs?: readonly GivenInput[] | undefined;
}

/** Who calls and how: what a transport knows of one request. */
export interface Caller {
  readonly principal: Principal;
  /** Of a call that was stored: the lowest tier of those along its chain. */
  readonly originTier?: TrustTier | undefined;
  /** What the request carried beside its arguments; header names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly transport: 'http' | 'ws' | 'stdio';
  /** The connection that the request came by; HTTP and WebSocket have one. */
  readonly socket?: Ends | undefined;
  /** Name of the tool, for logs and spans. */
  readonly tool: string;
  readonly protocolVersion?: string | undefined;
  readonly requestId?: string | number | undefined;
  /** How the request is observed; a call that was stored earlier has none. */
  readonly request?: ActiveRequest | undefined;
  /** What the caller declared of itself, for agents of the same protocol. */
  readonly declared?: Readonly<Record<string, unknown>> | undefined;
  /** The conversation that the request itself goes on with, and its answers. */
  readonly conversation?: {
    readonly id?: string | undefined;
    readonly inputs?: readonly GivenInput[] | undefined;
  };
  /**
   * What the caller's protocol answers with when an agent asks: a result that asks the caller, who
   * then sends the same request again with the answers. `undefined` when it cannot be asked these.
   */
  readonly toInputRequired?:
    | ((inputs: readonly InputRequest[], conversationId: string) => ToolResult | undefined)
    | undefined;
  /** What the caller's protocol answers with when the call goes on as a task of the caller's own. */
  readonly toTask?: ((job: StoredJob, ttlMs: number) => ToolResult) | undefined;
  /** Passes on a notification of the agent's own protocol, where the caller speaks it too. */
  readonly notify?: CallContext['notify'];
  /** Aborted when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  /**
   * Writes one event to the caller; resolves when there is room for the next. Absent when the
   * caller did not ask for events.
   */
  readonly send?: ((event: FabricEvent, place?: EventPlace) => Promise<void>) | undefined;
  /** The call was accepted earlier and stored: its credential may have expired since. */
  readonly isStored?: boolean | undefined;
  /** The job that the call runs for. */
  readonly job?: CallStart['job'];
  /** Awaited before anything of the call may reach an agent; rejects when that must not happen. */
  readonly willSend?: (() => Promise<void>) | undefined;
  /** Stores the id of a conversation with which the call goes on if this process ends. */
  readonly keepRunning?: ((conversationId: string) => Promise<void>) | undefined;
  /** How long a question to this caller stays open. */
  readonly questionMs?: number | undefined;
  /** Ends the connection to a caller that does not read what it asked for. */
  readonly cut: () => void;
}
