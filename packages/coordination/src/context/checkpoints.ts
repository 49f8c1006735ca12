// Contexts kept on purpose, and what is made of them: a session that goes on from one, or another
// session that begins with one.

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../agents/caller.ts';
import type { Snapshot } from '../coordination-store.ts';
import { jsonBytes } from '../json/json.ts';
import type { ForkRequest } from '../methods/session-manager.ts';
import { HEAD, keyOf, META, partitionOf } from '../partitions.ts';
import { assertCount } from '../quota/limits.ts';
import { failure } from '../reasons.ts';
import type { Services } from '../services.ts';
import type { Access } from '../session/session-access.ts';
import type { SessionMeta } from '../session/session-record.ts';
import { changeEntries } from '../support/change-entries.ts';
import { CONTEXT_UPDATE } from './context-event.ts';
import { fromBody, toBody } from './context-history.ts';
import {
  type ContextView,
  planUpdate,
  readContext,
  toView,
  valuesOf,
} from './context-operations.ts';

export const checkpointSchema = z
  .object({
    checkpoint_id: z.string(),
    name: z.string().nullable(),
    version: z.number(),
    keys: z.number(),
    agent_id: z.string(),
    at: z.number(),
  })
  .meta({ title: 'Checkpoint' });
export type Checkpoint = z.infer<typeof checkpointSchema>;

type CheckpointsOptions = Pick<
  Services,
  'store' | 'clock' | 'limits' | 'budgets' | 'access' | 'timers' | 'sessions' | 'history'
>;

const LIST = 'checkpoints';

export class Checkpoints {
  readonly #options: CheckpointsOptions;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
  }

  async make(caller: Caller, sessionId: string, name: string | null): Promise<Checkpoint> {
    const { store, clock, limits, budgets, access } = this.#options;
    const { partition, meta } = await access.fresh(caller, sessionId, { role: 'writer' });
    const view = await readContext(store, partition);
    const checkpoint: Checkpoint = {
      checkpoint_id: randomUUID(),
      name,
      version: view.version,
      keys: view.entries.size,
      agent_id: caller.agentId,
      at: clock.now(),
    };
    const key = keyOf.checkpoint(checkpoint.checkpoint_id);
    const body = { kind: 'put', key, value: toBody(view) } as const;
    await budgets.reserve(meta.principal, jsonBytes(body.value));
    await changeEntries(store, partitionOf.history(sessionId), [LIST], (current) => {
      const list = listIn(current);
      const fix = 'remove some with session_manager.remove_checkpoint';
      assertCount('checkpoints_per_session', list.length + 1, limits, fix);
      return { writes: [body, { kind: 'put', key: LIST, value: [...list, checkpoint] }] };
    });
    const { checkpoint_id, agent_id, version: context_version } = checkpoint;
    const event = { type: 'session.checkpoint', agent_id, checkpoint_id, context_version };
    await store.commit(partition, { writes: [], event });
    return checkpoint;
  }

  async list(caller: Caller, sessionId: string): Promise<readonly Checkpoint[]> {
    await this.#options.access.fresh(caller, sessionId, { role: 'reader' });
    return await this.#list(sessionId);
  }

  /** False when there was no such checkpoint. */
  async remove(caller: Caller, sessionId: string, checkpointId: string): Promise<boolean> {
    const { store, access } = this.#options;
    const { partition } = await access.fresh(caller, sessionId, { role: 'owner' });
    const removed = await changeEntries(store, partitionOf.history(sessionId), [LIST], (now) => {
      const list = listIn(now);
      const rest = list.filter(({ checkpoint_id }) => checkpoint_id !== checkpointId);
      if (rest.length === list.length) return undefined;
      const body = { kind: 'delete', key: keyOf.checkpoint(checkpointId) } as const;
      return { writes: [body, { kind: 'put', key: LIST, value: rest }] };
    });
    if (removed === undefined) return false;
    const about = { agent_id: caller.agentId, checkpoint_id: checkpointId };
    const event = { type: 'session.checkpoint_removed', ...about };
    await store.commit(partition, { writes: [], event });
    return true;
  }

  /** Opens a suspended session again, if asked with the context of a checkpoint. */
  async resume(caller: Caller, sessionId: string, checkpointId?: string): Promise<SessionMeta> {
    const { store, access, timers } = this.#options;
    for (;;) {
      const admitted = await access.fresh(caller, sessionId, { role: 'owner' });
      const { partition, meta, guard } = admitted;
      if (meta.state !== 'suspended') {
        if (checkpointId !== undefined) throw await this.#notSuspendedFailure(admitted);
        return meta;
      }
      if (checkpointId !== undefined) {
        const view = await this.#load(sessionId, checkpointId);
        await this.#replace(admitted, view, `restored checkpoint ${checkpointId}`);
      }
      const value = { ...meta, state: 'active' } as const;
      const event = { type: 'session.resumed', agent_id: caller.agentId };
      const writes = [{ kind: 'put', key: META, value }] as const;
      const { ok } = await store.commit(partition, { writes, event, ifKeys: guard });
      if (!ok) continue;
      await timers.start(sessionId, meta.ttl_ms);
      return value;
    }
  }

  /** A new session of the caller's own that begins with a context of this one. */
  async fork(caller: Caller, request: ForkRequest): Promise<SessionMeta> {
    const { access, sessions } = this.#options;
    const { session_id: sessionId, new_session_id, ttl_ms } = request;
    const admitted = await access.fresh(caller, sessionId, { role: 'reader' });
    const view = await this.#origin(admitted, request);
    const { mode = admitted.meta.mode, metadata = admitted.meta.metadata } = request;
    const parent = { session_id: sessionId, version: view.version };
    const wanted = { session_id: new_session_id, metadata, mode, ttl_ms, parent };
    const meta = await sessions.create(caller, wanted);
    const fresh = await access.fresh(caller, meta.session_id, { role: 'owner' });
    await this.#replace(fresh, view, `fork of ${sessionId} at ${view.version}`);
    return meta;
  }

  /** What a fork begins with: a checkpoint, the context at a version, or as it is. */
  async #origin(access: Access, request: ForkRequest): Promise<ContextView> {
    const { store, history } = this.#options;
    const { checkpoint_id, at_version } = request;
    if (checkpoint_id !== undefined) return await this.#load(access.sessionId, checkpoint_id);
    if (at_version !== undefined) return await history.at(access, at_version);
    return await readContext(store, access.partition);
  }

  async #list(sessionId: string): Promise<readonly Checkpoint[]> {
    return listIn(await this.#options.store.read(partitionOf.history(sessionId), [LIST]));
  }

  async #load(sessionId: string, checkpointId: string): Promise<ContextView> {
    const { store } = this.#options;
    const key = keyOf.checkpoint(checkpointId);
    const list = await this.#list(sessionId);
    const known = list.find(({ checkpoint_id }) => checkpoint_id === checkpointId);
    const body = (await store.read(partitionOf.history(sessionId), [key])).entries.get(key)?.value;
    if (known === undefined || body === undefined) {
      throw failure('not_found/checkpoint', { checkpoint_id: checkpointId });
    }
    return fromBody(body, known.version);
  }

  /** For a session in which no other agent can write. */
  async #replace({ partition, caller, guard, meta }: Access, view: ContextView, cause: string) {
    const { store, clock, budgets } = this.#options;
    const { agentId: agent_id } = caller;
    const update = valuesOf(view);
    await budgets.reserve(meta.principal, 2 * jsonBytes(update));
    const current = await store.read(partition);
    const { writes, removed } = planUpdate('replace', update, toView(current));
    const head = { kind: 'put', key: HEAD, value: { agent_id, at: clock.now() } } as const;
    const event = { type: CONTEXT_UPDATE, agent_id, op: 'replace', update, removed, cause };
    const { ok } = await store.commit(partition, {
      writes: [...writes, head],
      event,
      ifKeys: guard,
    });
    if (ok) return;
    const now = await readContext(store, partition);
    throw failure('conflict/session', { current_version: now.version, current: valuesOf(now) });
  }

  async #notSuspendedFailure({ sessionId, partition, meta }: Access) {
    const { version } = await readContext(this.#options.store, partition, []);
    const current = { state: meta.state };
    const facts = { session_id: sessionId, current_version: version, current };
    return failure('conflict/not_suspended', facts);
  }
}

function listIn({ entries }: Snapshot): readonly Checkpoint[] {
  return z.array(checkpointSchema).parse(entries.get(LIST)?.value ?? []);
}
