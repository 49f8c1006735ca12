// Which sessions an agent is a member of, and which the agents of a principal are in. Both may name
// one too many, but never lack one. The log of a principal has an event for each change.

import type { Json } from '@starloom/core';
import type { Write } from '../coordination-store.ts';
import { partitionOf } from '../partitions.ts';
import { Meter } from '../quota/meter.ts';
import type { Services } from '../services.ts';

export interface Participant {
  readonly agentId: string;
  readonly principalId: string;
}

type SessionIndexOptions = Pick<Services, 'store' | 'clock' | 'limits'>;

export class SessionIndex {
  readonly #store: SessionIndexOptions['store'];
  readonly #limits: SessionIndexOptions['limits'];
  /** By agent. */
  readonly #sessions: Meter;

  constructor({ store, clock, limits }: SessionIndexOptions) {
    this.#store = store;
    this.#limits = limits;
    this.#sessions = new Meter({
      limits,
      clock,
      entries: 'sessions_per_agent',
      fix: 'leave or end sessions that are not needed, or use another agent',
    });
  }

  async of(agentId: string): Promise<readonly string[]> {
    return await this.#find(agentId, OPEN);
  }

  /** Those that ended a moment ago, while they are remembered. */
  async endedOf(agentId: string): Promise<readonly string[]> {
    return await this.#find(agentId, ENDED);
  }

  /** The sessions of a principal, last joined first, each with those of its agents in it. */
  async ofPrincipal(principalId: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const { entries } = await this.#store.read(partitionOf.principal(principalId));
    const sessions = new Map<string, string[]>();
    for (const [key] of [...entries].sort(([, a], [, b]) => b.version - a.version)) {
      const [sessionId = '', agentId = ''] = key.split(SEPARATOR);
      sessions.set(sessionId, [...(sessions.get(sessionId) ?? []), agentId]);
    }
    return sessions;
  }

  async add({ agentId, principalId }: Participant, sessionId: string): Promise<void> {
    const isKnown = (await this.#find(agentId, OPEN, [sessionId])).length > 0;
    const count = async () => (await this.of(agentId)).length;
    if (!isKnown) await this.#sessions.reserveOne(agentId, count);
    const writes = (key: string) => [{ kind: 'put', key, value: OPEN }] as const;
    await Promise.all([
      isKnown || this.#store.commit(partitionOf.agent(agentId), { writes: writes(sessionId) }),
      this.#store.commit(partitionOf.principal(principalId), {
        writes: writes(toKey(sessionId, agentId)),
      }),
    ]);
  }

  /** The agent is a member now: notifies the followers of its principal's sessions. */
  async announce({ agentId, principalId }: Participant, sessionId: string): Promise<void> {
    const event = { type: 'principal.joined', session_id: sessionId, agent_id: agentId };
    await this.#store.commit(partitionOf.principal(principalId), { writes: [], event });
  }

  async remove(participant: Participant, sessionId: string): Promise<void> {
    await this.#leave(participant, sessionId, { kind: 'delete', key: sessionId });
  }

  /** The session is over; the agent finds it as such for as long as it is remembered. */
  async end(participant: Participant, sessionId: string): Promise<void> {
    const ttlMs = this.#limits.ended_session_ms;
    const ended = { kind: 'put', key: sessionId, value: ENDED, ttlMs } as const;
    await this.#leave(participant, sessionId, ended);
  }

  async #find(agentId: string, value: Json, among?: string[]): Promise<readonly string[]> {
    const { entries } = await this.#store.read(partitionOf.agent(agentId), among);
    return [...entries].filter(([, entry]) => entry.value === value).map(([id]) => id);
  }

  async #leave(participant: Participant, sessionId: string, write: Write): Promise<void> {
    const { agentId, principalId } = participant;
    const key = toKey(sessionId, agentId);
    const event = { type: 'principal.left', session_id: sessionId, agent_id: agentId };
    await Promise.all([
      this.#store.commit(partitionOf.agent(agentId), { writes: [write] }),
      this.#store.commit(partitionOf.principal(principalId), {
        writes: [{ kind: 'delete', key }],
        event,
      }),
    ]);
  }
}

const OPEN = true;
const ENDED = false;

/** No id holds it. */
const SEPARATOR = '/';

function toKey(sessionId: string, agentId: string): string {
  return `${sessionId}${SEPARATOR}${agentId}`;
}
