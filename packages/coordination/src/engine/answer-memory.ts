import type { Idempotency } from '../coordination-store.ts';

const MEMORY_MS = 600_000;

export interface Answer {
  readonly request: string;
  readonly answer: unknown;
  readonly until: number;
}

interface Asked {
  readonly kind: string;
  readonly idempotency: Idempotency | undefined;
  readonly now: number;
}

export class AnswerMemory {
  /** All live equally long, so the oldest come first. */
  readonly #answers: Map<string, Answer>;

  constructor(record: Iterable<readonly [string, Answer]> = []) {
    this.#answers = new Map(record);
  }

  toRecord(): readonly (readonly [string, Answer])[] {
    return [...this.#answers];
  }

  get size(): number {
    return this.#answers.size;
  }

  get nextDue(): number {
    for (const { until } of this.#answers.values()) return until;
    return Number.POSITIVE_INFINITY;
  }

  /**
   * The first answer to a request of this kind and key, or `make`s it and keeps it if asked to.
   * `reused` when the key was another request's. An answer that is not true any more is made again.
   */
  once<Result>(
    { kind, idempotency, now }: Asked,
    make: () => Result,
    isKept: (answer: Result) => boolean,
    isTrue: (answer: Result) => boolean = () => true,
  ): Result | 'reused' {
    if (idempotency === undefined) return make();
    const { key, request } = idempotency;
    const id = `${kind}:${key}`;
    const known = this.#answers.get(id);
    if (known !== undefined && known.request !== request) return 'reused';
    if (known !== undefined && isTrue(known.answer as Result)) return known.answer as Result;
    const answer = make();
    if (isKept(answer)) {
      this.#answers.delete(id);
      this.#answers.set(id, { request, answer, until: now + MEMORY_MS });
    }
    return answer;
  }

  forget(now: number): void {
    for (const [id, { until }] of this.#answers) {
      if (until > now) return;
      this.#answers.delete(id);
    }
  }
}
