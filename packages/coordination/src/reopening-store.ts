// A store that may be away: one that cannot be opened at the start, or that fails later, is opened
// again and again until it works. Until then every operation fails at once with the cause, so that
// whatever else this process does goes on. What was answered before is in the store; nothing else
// survives, which is what a failed operation said.

import { backoffMs, FabricError, type Log } from '@starloom/core';
import type { CoordinationStore } from './coordination-store.ts';
import { failure } from './reasons.ts';

export interface ReopeningStoreOptions {
  readonly open: () => Promise<CoordinationStore>;
  readonly log: Log;
  /** Problems that trying again does not solve: then nothing is opened at all. */
  readonly isFinal?: (error: FabricError) => boolean;
  readonly retryMs?: { readonly first: number; readonly most: number };
}

type Listener = (version: number) => void;
type Store = CoordinationStore;

interface Watched {
  readonly partition: string;
  readonly listener: Listener;
  stop: (() => Promise<void>) | undefined;
}

const RETRY_MS = { first: 1_000, most: 30_000 };
/** Comes and goes with each attempt. */
const PROBE = 'opened';

/** Rejects only with a final problem. */
export async function openReopeningStore(options: ReopeningStoreOptions): Promise<Store> {
  const store = new ReopeningStore(options);
  await store.begin();
  return store;
}

class ReopeningStore implements Store {
  readonly #options: ReopeningStoreOptions;
  readonly #watched = new Set<Watched>();
  #store: Store | undefined;
  #failure: FabricError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void> | undefined;
  #attempts = 0;
  #isClosed = false;

  constructor(options: ReopeningStoreOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    try {
      this.#store = await this.#options.open();
    } catch (thrown) {
      const error = FabricError.from(thrown);
      if (this.#options.isFinal?.(error)) throw error;
      this.#fail(error);
    }
  }

  get failure(): FabricError | undefined {
    const problem = this.#store?.failure;
    if (problem) this.#fail(problem);
    return this.#failure;
  }

  // These go to the store as they are, while there is one.
  read: Store['read'] = (...args) => this.#run((store) => store.read(...args));
  commit: Store['commit'] = (...args) => this.#run((store) => store.commit(...args));
  events: Store['events'] = (...args) => this.#run((store) => store.events(...args));
  acquire: Store['acquire'] = (...args) => this.#run((store) => store.acquire(...args));
  renew: Store['renew'] = (...args) => this.#run((store) => store.renew(...args));
  release: Store['release'] = (...args) => this.#run((store) => store.release(...args));
  breakLease: Store['breakLease'] = (...args) => this.#run((store) => store.breakLease(...args));
  cancelWait: Store['cancelWait'] = (...args) => this.#run((store) => store.cancelWait(...args));
  leases: Store['leases'] = (...args) => this.#run((store) => store.leases(...args));
  waiting: Store['waiting'] = (...args) => this.#run((store) => store.waiting(...args));
  deadlock: Store['deadlock'] = (...args) => this.#run((store) => store.deadlock(...args));
  acquireAndCommit: Store['acquireAndCommit'] = (...args) =>
    this.#run((store) => store.acquireAndCommit(...args));
  tick: Store['tick'] = () => this.#run((store) => store.tick());
  check: Store['check'] = () => this.#run((store) => store.check());
  size: Store['size'] = (...args) => this.#run((store) => store.size(...args));
  drop: Store['drop'] = (...args) => this.#run((store) => store.drop(...args));

  async watch(partition: string, listener: Listener): Promise<() => Promise<void>> {
    const watched: Watched = { partition, listener, stop: undefined };
    watched.stop = await this.#run((store) => store.watch(partition, listener));
    this.#watched.add(watched);
    return async () => {
      this.#watched.delete(watched);
      await watched.stop?.();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#opening;
    this.#watched.clear();
    await this.#store?.close();
  }

  #run<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
    const problem = this.failure;
    if (this.#store === undefined || problem) return Promise.reject(problem ?? away());
    return work(this.#store);
  }

  #fail(cause: FabricError): void {
    if (this.#failure || this.#isClosed) return;
    this.#failure = away(cause);
    const { details, message } = cause;
    this.#options.log.error(
      { error: cause, details },
      `coordination is not available: ${message}; calls of agents go on`,
    );
    this.#retryLater();
  }

  #retryLater(): void {
    const { first, most } = this.#options.retryMs ?? RETRY_MS;
    this.#attempts += 1;
    const ms = backoffMs({ firstMs: first, longestMs: most, tries: this.#attempts });
    this.#timer = setTimeout(() => {
      this.#opening = this.#reopen().finally(() => {
        this.#opening = undefined;
      });
    }, ms).unref();
  }

  async #reopen(): Promise<void> {
    const { open, log } = this.#options;
    await this.#store?.close().catch(() => undefined);
    this.#store = undefined;
    let store: Store | undefined;
    try {
      store = await open();
      await probe(store);
      for (const watched of this.#watched) {
        watched.stop = await store.watch(watched.partition, watched.listener);
      }
    } catch (thrown) {
      const error = FabricError.from(thrown);
      await store?.close().catch(() => undefined);
      this.#failure = away(error);
      log.debug({ error }, 'the coordination store still cannot be opened');
      if (!this.#isClosed) this.#retryLater();
      return;
    }
    this.#store = store;
    this.#failure = undefined;
    this.#attempts = 0;
    log.info({}, 'coordination is available again');
    for (const { partition, listener } of this.#watched) {
      store.read(partition, []).then(
        ({ version }) => listener(version),
        () => undefined,
      );
    }
  }
}

/** Does it write? To open a file is possible also on a disk that is full. */
async function probe(store: Store): Promise<void> {
  await store.commit(PROBE, { writes: [{ kind: 'put', key: 'at', value: 1 }] });
  await store.drop(PROBE);
}

function away(cause?: FabricError): FabricError {
  const problem = cause?.message ?? 'it is being opened';
  const { reason: store_problem, fix } = cause?.details ?? {};
  return failure('engine_unavailable/away', { problem, store_problem, fix }, { cause });
}
