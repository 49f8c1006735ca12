/** What expires at a moment of the engine's time. */
export type ExpiryDeadline =
  | { readonly at: number; readonly kind: 'key'; readonly key: string }
  | {
      readonly at: number;
      readonly kind: 'lease';
      readonly resource: string;
      readonly token: number;
    }
  | { readonly at: number; readonly kind: 'place'; readonly ticket: string };

/**
 * A heap of deadlines, earliest first. Nothing is ever taken back from it: a caller that gets a
 * deadline that is due checks that it still holds.
 */
export class Deadlines {
  #heap: ExpiryDeadline[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get next(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  add(deadline: ExpiryDeadline): void {
    const heap = this.#heap;
    let index = heap.push(deadline) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.at <= deadline.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = deadline;
  }

  /** Takes out all that are due, in no particular order of equals. */
  takeDue(now: number): ExpiryDeadline[] {
    const due: ExpiryDeadline[] = [];
    while (this.next <= now) {
      const first = this.#removeFirst();
      if (first !== undefined) due.push(first);
    }
    return due;
  }

  reset(deadlines: Iterable<ExpiryDeadline>): void {
    this.#heap = [...deadlines].sort((a, b) => a.at - b.at);
  }

  #removeFirst(): ExpiryDeadline | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const moved = heap.pop();
    if (moved === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const child =
        (heap[left + 1]?.at ?? Number.POSITIVE_INFINITY) < (heap[left]?.at ?? 0) ? left + 1 : left;
      const below = heap[child];
      if (below === undefined || below.at >= moved.at) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = moved;
    return first;
  }
}
