import type { TrustTier } from '@starloom/core';
import type { AgentRecord } from '../agents/agent-record.ts';

/** On whose behalf a client acts, as far as that was verified. */
export interface ConnectedPrincipal {
  readonly id: string;
  readonly scopes?: readonly string[] | undefined;
  readonly tier?: TrustTier | undefined;
}

/** A client as its transport knows it. */
export interface RpcConnection {
  readonly principal: ConnectedPrincipal;
  /** The agent that the transport knows to be on this connection. */
  readonly agent?: { readonly id: string; readonly epoch?: number | undefined } | undefined;
  /**
   * Sends a JSON-RPC notification, given as text since many may get the same. The next is not sent
   * before the promise settles. So a transport that resolves when it has room again slows down the
   * pushes to a slow client. A rejection ends the subscription. Absent where nothing can be pushed:
   * such clients read from a cursor.
   */
  readonly push?: ((notification: string) => Promise<void> | void) | undefined;
  /** Its requests are the heartbeats of an agent that was registered by joining a session. */
  readonly livesByUse?: boolean | undefined;
  /** The agents of the gateway that the principal may see. */
  readonly gatewayAgents?: (() => readonly AgentRecord[]) | undefined;
  /** Called when the last subscription ended without being asked to: with its session, say. */
  readonly onSubscriptionsOver?: (() => void) | undefined;
}
