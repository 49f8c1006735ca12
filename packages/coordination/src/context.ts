// The shared context of a session. An update applies whole or not at all, and everything it rests
// on is checked inside that one write: the caller's right, its lock or the versions it expects, and
// the values that its result was computed from.

import type { JsonObject } from '@starloom/core';
import { type Caller, idempotencyOf } from './agents/caller.ts';
import { CONTEXT_UPDATE } from './context/context-event.ts';
import {
  type ContextView,
  contextKeys,
  keysToRead,
  type Plan,
  planUpdate,
  readContext,
  toView,
  valuesOf,
  versionsOf,
} from './context/context-operations.ts';
import type { Commit, CommitResult, LockedCommitResult, Snapshot } from './coordination-store.ts';
import { jsonBytes } from './json/json.ts';
import { inTheWay, lockHeld } from './locks/lock-queue.ts';
import { CONTEXT_RESOURCE } from './memory-lock.ts';
import type { ContextUpdate } from './methods/context-coordinator.ts';
import { HEAD, keyOf, partitionOf } from './partitions.ts';
import { assertSize } from './quota/limits.ts';
import { type Amount, type Measured, Meter } from './quota/meter.ts';
import { failure } from './reasons.ts';
import type { Services } from './services.ts';
import { type Access, accessKeys, isOutdated } from './session/session-access.ts';

type ContextOptions = Pick<
  Services,
  'store' | 'clock' | 'limits' | 'budgets' | 'access' | 'locks' | 'history'
>;

export interface UpdateAnswer {
  readonly version: number;
  /** What `with_lock` wrote under. */
  readonly lock_token?: number;
}

interface SizedPlan extends Plan {
  readonly bytes: number;
}

const UPDATE = 'context_coordinator.update';
/** No partition has this version. */
const NEVER = -1;

/** An update that computes its values gives up after so many conflicts. */
const ATTEMPTS = 64;

export class Context {
  readonly #options: ContextOptions;
  readonly #meter: Meter;

  constructor(options: ContextOptions) {
    this.#options = options;
    const { limits } = options;
    const fix = 'remove keys that are not needed';
    this.#meter = new Meter({ limits, entries: 'context_keys', bytes: 'context_bytes', fix });
  }

  async get(caller: Caller, sessionId: string, keys?: readonly string[], atVersion?: number) {
    const { store, access, history } = this.#options;
    if (atVersion !== undefined) {
      const admitted = await access.fresh(caller, sessionId, { role: 'reader' });
      return await history.at(admitted, atVersion, keys);
    }
    const wanted = keys && [...accessKeys(caller), HEAD, ...contextKeys(keys)];
    const snapshot = await store.read(partitionOf.session(sessionId), wanted);
    await access.fromSnapshot(snapshot, caller, sessionId, { role: 'reader' });
    return { ...toView(snapshot), cursor: snapshot.version };
  }

  async update(caller: Caller, request: ContextUpdate): Promise<UpdateAnswer> {
    const { access, history } = this.#options;
    let expected = expectations(request);
    let latest: Snapshot = EMPTY;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const need = { role: 'writer', state: 'active' } as const;
      const admitted = await access.recent(caller, request.session_id, need);
      const plan = await this.#mayPlan(admitted, request);
      if ('version' in plan) return plan;
      const result = await this.#commit(admitted, request, plan, expected);
      if (result.ok) {
        history.noteUpdate(admitted, result.version, plan.bytes);
        return toAnswer(result);
      }
      if (result.reason === 'held') {
        await access.fresh(caller, request.session_id, need);
        throw lockHeld(CONTEXT_RESOURCE, result.heldBy, admitted.holder);
      }
      if (result.reason === 'reused') throw failure('idempotency_key_reused');
      if (result.reason === 'fenced') throw await this.#fenceFailure(admitted, request);
      if (result.reason === 'not_a_number') throw notANumber(toView(result.current));
      latest = result.current;
      if (isOutdated(admitted, latest)) access.forget(caller, request.session_id);
      else expected = updateExpectations(request, expected, latest);
    }
    const { session_id } = request;
    throw failure('conflict/busy', { session_id, ...currentOf(toView(latest)) });
  }

  /** The plan; or, if the request was done before, the answer it had then. */
  async #mayPlan(access: Access, request: ContextUpdate): Promise<SizedPlan | UpdateAnswer> {
    try {
      await this.#assertLock(access, request);
      return await this.#plan(access, request);
    } catch (error) {
      const done = await this.#recall(access, request);
      if (done) return done;
      await this.#options.access.fresh(access.caller, access.sessionId, { role: 'writer' });
      throw error;
    }
  }

  /** What made the request possible may be gone since it was done. */
  async #recall(access: Access, request: ContextUpdate): Promise<UpdateAnswer | undefined> {
    const { caller, partition, holder } = access;
    const idempotency = idempotencyOf(caller, UPDATE);
    if (idempotency === undefined) return undefined;
    const { store } = this.#options;
    const commit = { writes: [], ifVersion: NEVER, idempotency };
    const lock = { resource: CONTEXT_RESOURCE, holder };
    const result = request.with_lock
      ? await store.acquireAndCommit(partition, lock, commit)
      : await store.commit(partition, commit);
    return result.ok ? toAnswer(result) : undefined;
  }

  async #assertLock(
    access: Access,
    { lock_token: token, with_lock }: ContextUpdate,
  ): Promise<void> {
    const { locks } = this.#options;
    const resource = CONTEXT_RESOURCE;
    if (with_lock) return;
    if (token !== undefined) {
      const holds = locks.assertHolder(access, { resource, token });
      const mode = holds instanceof Promise ? await holds : holds;
      if (mode === 'exclusive') return;
    } else if (access.meta.mode === 'cas') return;
    const leases = await locks.heldBy(access, resource);
    throw failure('lock_required', { resource, ...inTheWay(leases) });
  }

  async #plan(access: Access, { op, update }: ContextUpdate): Promise<SizedPlan> {
    const { limits, budgets } = this.#options;
    const keys = keysToRead(op, update);
    const view = keys === 'none' ? EMPTY : await this.#view(access, keys);
    const plan = planUpdate(op, update, view, limits.context_bytes);
    const sizes = sizesOf(plan.update);
    for (const size of sizes) assertSize('value_bytes', size, limits);
    const bytes = sum(sizes);
    const room = this.#meter.reserve({
      name: access.sessionId,
      more: { entries: sizes.length, bytes },
      measure: async () => growth(await this.#view(access, 'all'), plan),
    });
    if (room) await room;
    const budget = bytes > 0 ? budgets.reserve(access.meta.principal, 2 * bytes) : undefined;
    if (budget) await budget;
    return { ...plan, bytes };
  }

  async #view({ partition }: Access, keys: 'all' | readonly string[]): Promise<ContextView> {
    return await readContext(this.#options.store, partition, keys === 'all' ? undefined : keys);
  }

  async #commit(
    { partition, guard, holder, caller }: Access,
    request: ContextUpdate,
    { writes, update, removed, ifKeys }: Plan,
    expected: ReadonlyMap<string, number>,
  ): Promise<CommitResult | LockedCommitResult> {
    const { store, clock } = this.#options;
    const { agentId: agent_id, traceId } = caller;
    const { op, cause, lock_token: token, with_lock } = request;
    const head = { kind: 'put', key: HEAD, value: { agent_id, at: clock.now() } } as const;
    const event: JsonObject = {
      type: CONTEXT_UPDATE,
      agent_id,
      op,
      update,
      ...(removed.length > 0 && { removed }),
      ...(token !== undefined && { lock_token: token }),
      ...(cause !== undefined && { cause }),
      ...(traceId !== undefined && { trace_id: traceId }),
    };
    const commit: Omit<Commit, 'fence'> = {
      writes: [...writes, head],
      event,
      ifKeys: joinMaps(ifKeys, expected, guard),
      idempotency: idempotencyOf(caller, UPDATE),
    };
    const resource = CONTEXT_RESOURCE;
    if (with_lock) return await store.acquireAndCommit(partition, { resource, holder }, commit);
    const fence = token === undefined ? undefined : { resource, token };
    return await store.commit(partition, { ...commit, fence });
  }

  async #fenceFailure(access: Access, { lock_token: token = 0 }: ContextUpdate) {
    const lock = { resource: CONTEXT_RESOURCE, lock_token: token };
    const leases = await this.#options.locks.heldBy(access, CONTEXT_RESOURCE);
    return failure('stale_token/lock', { ...lock, ...inTheWay(leases) });
  }
}

function toAnswer(done: { readonly version: number; readonly token?: number }): UpdateAnswer {
  const { version, token } = done;
  return token === undefined ? { version } : { version, lock_token: token };
}

/** All of them as one map; when only one holds anything, that one itself. */
function joinMaps(...maps: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const filled = maps.filter(({ size }) => size > 0);
  const [only] = filled;
  return only && filled.length === 1 ? only : new Map(filled.flatMap((map) => [...map]));
}

const EMPTY: Snapshot = { version: 0, entries: new Map() };

function expectations({ if_version, if_versions = {} }: ContextUpdate): Map<string, number> {
  const keys = Object.entries(if_versions).map(
    ([key, version]) => [keyOf.context(key), version] as const,
  );
  return new Map([...keys, ...(if_version === undefined ? [] : [[HEAD, if_version] as const])]);
}

/**
 * What to expect at the next attempt, when only values changed that the caller said nothing about;
 * else its conflict. A version at which the context was as it is now is as good as its own.
 */
function updateExpectations(
  { if_version }: ContextUpdate,
  expected: ReadonlyMap<string, number>,
  current: Snapshot,
): Map<string, number> {
  const head = current.entries.get(HEAD)?.version ?? 0;
  const hasBeen = if_version !== undefined && if_version <= current.version;
  const isUnchanged = hasBeen && if_version >= head;
  const next = isUnchanged ? new Map([...expected, [HEAD, head]]) : new Map(expected);
  for (const [key, version] of next) {
    if ((current.entries.get(key)?.version ?? 0) === version) continue;
    const view = toView(current);
    const current_versions = versionsOf(view);
    throw failure('conflict/context', { ...currentOf(view), current_versions });
  }
  return next;
}

function currentOf(view: ContextView) {
  return { current_version: view.version, current: valuesOf(view) };
}

/** Of an increment that the store refused: a value is no number, or a sum would be too large. */
function notANumber(view: ContextView) {
  const current = valuesOf(view);
  const other = Object.entries(current).find(([, value]) => typeof value !== 'number');
  if (other === undefined) return failure('not_a_number/sum', { current });
  return failure('not_a_number/value', { key: other[0], current });
}

/** How much there is, and how much more there will be after the plan. */
function growth(view: ContextView, { update, removed }: Plan): Measured {
  const replaced = [...Object.keys(update), ...removed].flatMap((key) => {
    const entry = view.entries.get(key);
    return entry ? [[key, entry] as const] : [];
  });
  const before = amountOf({ ...view, entries: new Map(replaced) });
  const sizes = sizesOf(update);
  const more = { entries: sizes.length - before.entries, bytes: sum(sizes) - before.bytes };
  return { now: amountOf(view), more };
}

function amountOf({ entries }: ContextView): Amount {
  const sizes = [...entries].map(([key, { value }]) => key.length + jsonBytes(value));
  return { entries: sizes.length, bytes: sum(sizes) };
}

function sizesOf(update: JsonObject): number[] {
  return Object.entries(update).map(([key, value]) => key.length + jsonBytes(value));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
