// Whose turn it is among the works of one client. They enter in the order in which they came, alone
// or, when they share, together with those before them that share, too.

export interface TurnRequest {
  readonly name: string;
  readonly isShared: boolean;
  readonly waitMs: number;
}

interface Place {
  readonly isShared: boolean;
  readonly enter: () => void;
  readonly refuse: (reason: Error) => void;
  isInside: boolean;
}

export class WorkTurns {
  readonly #queues = new Map<string, Set<Place>>();
  #closed: Error | undefined;

  /** Ends when it is disposed of; `undefined` when it did not come in time. */
  async take({ name, isShared, waitMs }: TurnRequest): Promise<Disposable | undefined> {
    if (this.#closed) throw this.#closed;
    const { promise: entered, resolve: enter, reject: refuse } = Promise.withResolvers<void>();
    const place: Place = { isShared, enter, refuse, isInside: false };
    const queue = this.#queues.get(name) ?? new Set();
    this.#queues.set(name, queue.add(place));
    admit(queue);
    try {
      if (!place.isInside) await withinTime(entered, waitMs);
    } finally {
      if (!place.isInside) this.#leave(name, place);
    }
    if (!place.isInside) return undefined;
    return { [Symbol.dispose]: () => this.#leave(name, place) };
  }

  /** No caller gets a turn any more; those that have one may end. */
  close(reason: Error): void {
    this.#closed = reason;
    const places = [...this.#queues.values()].flatMap((queue) => [...queue]);
    for (const place of places) if (!place.isInside) place.refuse(reason);
  }

  #leave(name: string, place: Place): void {
    const queue = this.#queues.get(name);
    if (!queue?.delete(place)) return;
    if (queue.size === 0) this.#queues.delete(name);
    else admit(queue);
  }
}

function admit(queue: ReadonlySet<Place>): void {
  let isFirst = true;
  for (const place of queue) {
    if (!isFirst && !place.isShared) return;
    if (!place.isInside) enter(place);
    if (!place.isShared) return;
    isFirst = false;
  }
}

function enter(place: Place): void {
  place.isInside = true;
  place.enter();
}

async function withinTime(entered: Promise<void>, ms: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([entered, over]);
  } finally {
    clearTimeout(timer);
  }
}
