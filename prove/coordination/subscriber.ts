// Follows sessions and resumes from its cursor on every new connection. When it is told of a gap it
// takes a snapshot, as any client must.

import { Client } from './client.ts';
import type { Delivery, History } from './history.ts';
import type { Fields, Link, OpenLink } from './link.ts';

export interface SubscriberOptions {
  readonly agent: string;
  readonly sessions: readonly string[];
  readonly open: OpenLink;
  readonly history: History;
  readonly signal: AbortSignal;
}

interface Follow {
  readonly record: (delivery: Delivery) => void;
  cursor: number;
  /** The gap it was told of last, until it has a snapshot. */
  owed: number | undefined;
}

/** Well within the interval that the world asks for. */
const BEAT_MS = 250;

export class Subscriber {
  readonly client: Client;
  readonly #follows: ReadonlyMap<string, Follow>;
  readonly #agent: string;
  #beatAt = 0;

  constructor({ agent, sessions, open, history, signal }: SubscriberOptions) {
    this.#agent = agent;
    this.#follows = new Map(
      sessions.map((session) => {
        const record = history.subscribe(agent, session, 0);
        return [session, { record, cursor: 0, owed: undefined }] as const;
      }),
    );
    this.client = new Client({
      agent,
      open,
      history,
      signal,
      onConnect: (link) => this.#subscribe(link),
      onPush: (method, params) => this.#take(method, params),
    });
  }

  /** True when it came to this version of the session, with nothing left to make up for. */
  hasSettled(session: string, version: number): boolean {
    const follow = this.#follows.get(session);
    return follow !== undefined && follow.cursor >= version && follow.owed === undefined;
  }

  /** Connects when it is not, or counts as lost; takes the snapshots it was told to take. */
  async keepUp(until: AbortSignal): Promise<void> {
    const link = await this.client.link(until);
    if (performance.now() - this.#beatAt > BEAT_MS) {
      this.#beatAt = performance.now();
      const beat = await link.request('agent_registry.heartbeat', { agent_id: this.#agent });
      if (beat.kind === 'refused') return this.client.disconnect();
    }
    for (const [session_id, follow] of this.#follows) {
      const { owed } = follow;
      if (owed === undefined) continue;
      const who = { agent_id: this.#agent, session_id };
      const answer = await link.request('context_coordinator.get', who);
      if (answer.kind !== 'ok' || owed !== follow.owed) continue;
      follow.record({ kind: 'snapshot', version: Number(answer.result.cursor) });
      follow.owed = undefined;
    }
  }

  async #subscribe(link: Link): Promise<void> {
    for (const [session_id, follow] of this.#follows) {
      const who = { agent_id: this.#agent, session_id };
      await link.request('session_manager.join', who);
      const after = follow.cursor;
      const answer = await link.request('context_coordinator.subscribe', { ...who, after });
      if (answer.kind === 'refused' && answer.reason === 'cursor_from_the_future') {
        follow.record({ kind: 'forgotten', version: after });
        follow.cursor = 0;
      } else if (answer.kind === 'refused') {
        follow.record({ kind: 'refused', version: after, reason: answer.reason });
      }
      if (answer.kind !== 'ok') {
        link.close();
        throw new Error('not subscribed');
      }
    }
  }

  #take(method: string, { session_id, cursor, cause }: Fields): void {
    const follow = this.#follows.get(String(session_id));
    if (follow === undefined) return;
    const version = Number(cursor);
    if (method === 'context_coordinator.update') {
      follow.record({ kind: 'update', version, cause: String(cause) });
    } else if (method === 'context_coordinator.snapshot_required') {
      follow.record({ kind: 'gap', version });
      follow.owed = version;
    } else return;
    follow.cursor = version;
  }
}
