// The nodes that are connected to this gateway, and the agents that each of them registered here. A call
// goes over the connection whose own principal registered the agent: no node sees calls of another.

import { type InstanceKey, instanceKey, orAborted } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import type { NodeLink } from '@starloom/wire/node-link';
import type { ListKind } from '../mcp/list-changes.ts';
import { failure } from '../reasons.ts';

/** A node that said hello. */
export interface LinkedNode {
  readonly nodeId: string;
  /** Drawn by each process of a node: a second process under the same id is another run. */
  readonly runId: string;
  readonly principalId: string;
  readonly link: NodeLink;
  /** Whether it serves the agent; `pending` while it is being registered. */
  offerOf(agentId: string): 'registered' | 'pending' | undefined;
}

interface LinkWait {
  readonly signal: AbortSignal;
  /** For a node that is not connected, or has not offered the agent yet. */
  readonly waitMs?: number;
}

/** How long a call waits for a registration that is under way. */
const MAX_PENDING_MS = 10_000;
/** How long calls wait for a node that was just here, or that has yet to dial a gateway that just started. */
const BACK_SOON_MS = 8_000;

export class NodeLinks {
  readonly #nodes = new Map<string, LinkedNode>();
  readonly #listeners = new Map<string, Set<(kind: ListKind) => void>>();
  readonly #openedAt = performance.now();
  /** When nodes were cut off, those of late. */
  readonly #lostAt = new Map<string, number>();
  #changed = Promise.withResolvers<void>();

  /** Whether the node of this instance is connected here. */
  isLinked({ agent_id, node_id }: InstanceKey): boolean {
    return this.#nodes.get(node_id)?.offerOf(agent_id) !== undefined;
  }

  /** How long it is worth waiting for a node that is not connected. */
  backSoonMs({ node_id }: InstanceKey): number {
    const since = this.#lostAt.get(node_id) ?? this.#openedAt;
    return Math.max(0, BACK_SOON_MS - (performance.now() - since));
  }

  /** AGENT_OFFLINE, `sent: false`, when the node of the instance is not connected. */
  async linkOf(instance: InstanceKey, { signal, waitMs = 0 }: LinkWait): Promise<NodeLink> {
    const { agent_id, node_id } = instance;
    const until = performance.now() + Math.max(waitMs, 0);
    while (true) {
      const node = this.#nodes.get(node_id);
      const offer = node?.offerOf(agent_id);
      if (node && offer === 'registered') return node.link;
      const leftMs = offer === 'pending' ? MAX_PENDING_MS : until - performance.now();
      if (leftMs <= 0) throw failure('no_link', { agent_id, node_id });
      using time = deadlineSignal({ ms: leftMs, parent: signal });
      await orAborted(this.#changed.promise, time.signal).catch(() => {
        signal.throwIfAborted();
        throw failure('no_link', { agent_id, node_id });
      });
    }
  }

  /**
   * The same run of a node that connects again takes the place of its earlier connection. Another one
   * is refused with `node_taken` for as long as the connection of the first is alive.
   */
  add(node: LinkedNode): void {
    const { nodeId, runId, principalId } = node;
    const known = this.#nodes.get(nodeId);
    const isSame = known?.runId === runId && known.principalId === principalId;
    if (known && !isSame) throw failure('node_taken', { node_id: nodeId });
    known?.link.close(failure('node_replaced', { node_id: nodeId }));
    this.#nodes.set(nodeId, node);
    this.#lostAt.delete(nodeId);
  }

  /** Nothing happens when another connection took its place. */
  remove(node: LinkedNode): void {
    if (this.#nodes.get(node.nodeId) !== node) return;
    this.#nodes.delete(node.nodeId);
    const now = performance.now();
    for (const [nodeId, at] of this.#lostAt) {
      if (now - at > BACK_SOON_MS) this.#lostAt.delete(nodeId);
    }
    this.#lostAt.set(node.nodeId, now);
  }

  /** What a node offers changed: calls that wait look again. */
  noteOffers(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Calls back when the agent says that a list of it changed; returns how to stop. */
  onListChanged(instance: InstanceKey, listener: (kind: ListKind) => void): () => void {
    const key = instanceKey(instance);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners)
        this.#listeners.delete(key);
    };
  }

  listChanged(instance: InstanceKey, kind: ListKind): void {
    for (const listener of this.#listeners.get(instanceKey(instance)) ?? []) listener(kind);
  }
}
