// A coordination store on the state machine. What it answers, and what watchers hear, is in the
// journal by then: not only an answered commit but also whatever a read has seen will survive.

import type { Clock, FabricError } from '@starloom/core';
import type { CoordinationStore as Store, StoreWarning } from '../coordination-store.ts';
import type { CoordinationMachine } from './coordination-machine.ts';
import type { OperationName, Operations } from './operations.ts';

export interface JournalRecord {
  readonly partition: string;
  readonly now: number;
  readonly operation: OperationName | 'drop';
  readonly args: readonly unknown[];
}

/** Where operations are kept so that they can be applied again. */
export interface Journal {
  /** Set once nothing can be kept any more, whatever happens. */
  readonly failure: FabricError | undefined;
  /** Throws when nothing can be kept: asked before each operation, so that none is half done. */
  assertReady(): void;
  /** Throws where there is no room for more; asked before operations that may make it grow. */
  assertRoom(args: readonly unknown[]): void;
  /** What is off, though it works. */
  warnings(): readonly StoreWarning[];
  append(record: JournalRecord): void;
  /** Resolves when all that was appended about the partition is safe; `undefined`: it is. */
  flushed(partition: string): Promise<void> | undefined;
  close(): Promise<void>;
}

export interface MachineStoreOptions {
  readonly machine: CoordinationMachine;
  /** The engine's time; never steps back. */
  readonly now: () => number;
  /** Without one, everything is gone with the process. */
  readonly journal?: Journal | undefined;
  /** What is known to be wrong with it from the start. */
  readonly warnings?: readonly StoreWarning[] | undefined;
}

type Listener = (version: number) => void;

export class MachineStore implements Store {
  readonly #machine: CoordinationMachine;
  readonly #now: () => number;
  readonly #journal: Journal;
  readonly #warnings: readonly StoreWarning[];
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor({ machine, now, journal = noJournal, warnings = [] }: MachineStoreOptions) {
    this.#warnings = warnings;
    this.#machine = machine;
    this.#now = now;
    this.#journal = journal;
  }

  get failure(): FabricError | undefined {
    return this.#journal.failure;
  }

  read: Store['read'] = (partition, keys) =>
    this.#see(partition, () => this.#machine.partition(partition).snapshot(this.#now(), keys));

  events: Store['events'] = (partition, after, limit) =>
    this.#see(partition, () => this.#machine.partition(partition).events(after, limit));

  leases: Store['leases'] = (partition, resource) =>
    this.#see(partition, () => this.#machine.partition(partition).leases(this.#now(), resource));

  waiting: Store['waiting'] = (partition, resource) =>
    this.#see(partition, () => this.#machine.partition(partition).waiting(this.#now(), resource));

  deadlock: Store['deadlock'] = (partition, place) =>
    this.#see(partition, () => this.#machine.partition(partition).deadlock(this.#now(), place));

  commit: Store['commit'] = (partition, commit) => this.#apply(partition, 'commit', commit);

  acquireAndCommit: Store['acquireAndCommit'] = (partition, request, commit) =>
    this.#apply(partition, 'acquireAndCommit', request, commit);

  acquire: Store['acquire'] = (partition, request) => this.#apply(partition, 'acquire', request);

  renew: Store['renew'] = (partition, lease, ttlMs) =>
    this.#apply(partition, 'renew', lease, ttlMs);

  release: Store['release'] = (partition, lease) => this.#apply(partition, 'release', lease);

  breakLease: Store['breakLease'] = (partition, resource, token) =>
    token === undefined
      ? this.#apply(partition, 'breakLease', resource)
      : this.#apply(partition, 'breakLease', resource, token);

  cancelWait: Store['cancelWait'] = (partition, ticket) =>
    this.#apply(partition, 'cancelWait', ticket);

  partitions(): readonly string[] {
    return this.#machine.names();
  }

  /** For an engine that lost what it had answered: the next versions are larger than those. */
  skipVersions(partition: string, versions: number): Promise<undefined> {
    return this.#apply(partition, 'skip', versions);
  }

  async tick(): Promise<void> {
    const due = [...this.#machine.due(this.#now())];
    await Promise.all(due.map((partition) => this.#apply(partition, 'settle')));
  }

  async check(): Promise<readonly StoreWarning[]> {
    this.#journal.assertReady();
    return [...this.#warnings, ...this.#journal.warnings()];
  }

  async size(partitions: readonly string[]): Promise<number> {
    this.#journal.assertReady();
    return partitions.reduce((total, partition) => total + this.#machine.size(partition), 0);
  }

  async drop(partition: string): Promise<void> {
    this.#journal.assertReady();
    const now = this.#now();
    const dropped = this.#machine.drop(partition, now);
    if (dropped) this.#journal.append({ partition, now, operation: 'drop', args: [] });
    await this.#journal.flushed(partition);
  }

  async watch(partition: string, listener: Listener): Promise<() => Promise<void>> {
    const listeners = this.#listeners.get(partition) ?? new Set();
    this.#listeners.set(partition, listeners.add(listener));
    return async () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(partition);
    };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#journal.close();
  }

  async #see<Result>(partition: string, look: () => Result): Promise<Result> {
    this.#journal.assertReady();
    const seen = look();
    const flushed = this.#journal.flushed(partition);
    if (flushed) await flushed;
    return seen;
  }

  async #apply<Name extends OperationName>(
    partition: string,
    operation: Name,
    ...args: Operations[Name]['args']
  ): Promise<Operations[Name]['result']> {
    this.#journal.assertReady();
    if (GROWING.has(operation)) this.#journal.assertRoom(args);
    const now = this.#now();
    const { result, changed, newEvent } = this.#machine.apply(partition, now, operation, ...args);
    if (changed) this.#journal.append({ partition, now, operation, args });
    const flushed = this.#journal.flushed(partition);
    if (flushed) await flushed;
    if (newEvent !== undefined) this.#tell(partition, newEvent);
    return result;
  }

  #tell(partition: string, version: number): void {
    for (const listener of this.#listeners.get(partition) ?? []) listener(version);
  }
}

/** Others end something, or keep it as it is. */
const GROWING: ReadonlySet<OperationName> = new Set(['commit', 'acquireAndCommit', 'acquire']);

const noJournal: Journal = {
  failure: undefined,
  assertReady: () => {},
  assertRoom: () => {},
  warnings: () => [],
  append: () => {},
  flushed: () => undefined,
  close: async () => {},
};

/** How much faster than the monotonic clock it may go to catch up with the wall clock. */
const CATCH_UP_SHARE = 0.01;

/**
 * The time that leases, keys and queues live by, in whole milliseconds. It begins at the wall clock,
 * or at `from` if that is later, and goes on with the monotonic clock: no step of the wall clock, in
 * either direction, expires anything or leaves it ahead. Behind the wall clock, it goes at most one
 * percent faster until both agree.
 */
export function engineTime(clock: Clock, from = 0): () => number {
  const origin = { time: Math.max(from, clock.now()), monotonic: clock.monotonic() };
  let last = origin.monotonic;
  let gained = 0;
  return () => {
    const monotonic = clock.monotonic();
    const time = origin.time + (monotonic - origin.monotonic);
    const behind = clock.now() - Math.floor(time + gained);
    if (behind > 0) gained += Math.min(behind, (monotonic - last) * CATCH_UP_SHARE);
    last = monotonic;
    return Math.floor(time + gained);
  };
}
