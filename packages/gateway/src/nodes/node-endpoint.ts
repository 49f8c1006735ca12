import { isMandated, mayRegisterSome } from '@starloom/identity';
import { failure } from '../reasons.ts';
import type { HeldBytes } from '../transports/reply.ts';
import type { Upgrade, UpgradeRoutes } from '../transports/routes.ts';
import { WebSocketTransport } from '../transports/websocket.ts';
import { NodeSession, type NodeSessionOptions } from './node-session.ts';

type NodeEndpointOptions = Omit<NodeSessionOptions, 'heartbeatMs' | 'maxLength'> & {
  readonly held: HeldBytes;
  /** The largest answer of an agent, in characters. */
  readonly resultLength: number;
  readonly heartbeatMs?: number | undefined;
};

/** Balancers cut connections that rest for 30 or 60 seconds. */
const HEARTBEAT_MS = 10_000;
/** Of one message, beside the answer of an agent in it. */
const MARGIN = 1 << 20;

/** Where nodes connect. */
export class NodeEndpoint {
  readonly #options: NodeSessionOptions;
  readonly #webSocket: WebSocketTransport;

  constructor({ held, resultLength, heartbeatMs = HEARTBEAT_MS, ...options }: NodeEndpointOptions) {
    const maxLength = 2 * resultLength + MARGIN;
    this.#options = { ...options, heartbeatMs, maxLength };
    // A character has at most three bytes.
    const maxMessageBytes = 3 * maxLength;
    this.#webSocket = new WebSocketTransport({ maxMessageBytes, held, keepAliveMs: heartbeatMs });
  }

  get upgrades(): UpgradeRoutes {
    return { '/node': (upgrade) => this.#accept(upgrade) };
  }

  async close(): Promise<void> {
    await this.#webSocket.close();
  }

  #accept(upgrade: Upgrade): void {
    const { principal } = upgrade;
    if (isMandated(principal) || !mayRegisterSome(principal)) throw failure('scope/node');
    this.#webSocket.accept(upgrade, (channel) => {
      void new NodeSession(channel, principal, this.#options).run();
    });
  }
}
