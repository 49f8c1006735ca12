// Is there an order of the operations on one object, each at some moment between its call and its
// answer, that a sequential object could have shown? A search after Wing and Gong with Lowe's memo:
// a set of operations done with the state they led to is never looked at twice. An operation
// without an answer stays open: it may be anywhere after its call, or nowhere.

export interface Model<State, Call> {
  readonly initial: State;
  /** `undefined`: an object in this state would not have answered so. */
  step(state: State, call: Call): State | undefined;
  /** The same for equal states only. */
  keyOf(state: State): string;
}

export interface Timed<Call> {
  readonly call: Call;
  readonly invokedAt: number;
  /** `Infinity` when there was no answer. */
  readonly returnedAt: number;
}

export type Verdict<Call> =
  | { readonly kind: 'linearizable' }
  /** How far it went at best: the last calls of the longest order, and those that do not fit. */
  | {
      readonly kind: 'violation';
      readonly last: readonly Timed<Call>[];
      readonly stuck: readonly Timed<Call>[];
    }
  | { readonly kind: 'undecided'; readonly steps: number };

const MAX_STEPS = 2_000_000;
const EXCERPT = 4;

export function checkLinearizable<State, Call>(
  model: Model<State, Call>,
  history: readonly Timed<Call>[],
  mostSteps = MAX_STEPS,
): Verdict<Call> {
  return new Search(model, history).run(mostSteps);
}

interface Frame<State> {
  readonly state: State;
  readonly candidates: readonly number[];
  next: number;
  chosen: number | undefined;
}

class Search<State, Call> {
  readonly #model: Model<State, Call>;
  /** Answered ones by the time of their call, then the open ones. */
  readonly #calls: readonly Timed<Call>[];
  readonly #answered: number;
  readonly #done: boolean[];
  readonly #seen = new Set<string>();
  /** All answered calls before this one are done. */
  #first = 0;
  #longest: { order: readonly number[]; stuck: readonly number[] } = { order: [], stuck: [] };

  constructor(model: Model<State, Call>, history: readonly Timed<Call>[]) {
    this.#model = model;
    const ordered = [...history].sort((a, b) => a.invokedAt - b.invokedAt);
    const isAnswered = ({ returnedAt }: Timed<Call>) => Number.isFinite(returnedAt);
    const answered = ordered.filter(isAnswered);
    this.#answered = answered.length;
    this.#calls = [...answered, ...ordered.filter((call) => !isAnswered(call))];
    this.#done = this.#calls.map(() => false);
  }

  run(mostSteps: number): Verdict<Call> {
    const stack = [this.#frame(this.#model.initial)];
    for (let steps = 0; steps < mostSteps; steps += 1) {
      if (this.#first === this.#answered) return { kind: 'linearizable' };
      const frame = stack.at(-1);
      if (frame === undefined) return this.#violation();
      this.#undo(frame);
      const state = this.#choose(frame);
      if (state !== undefined) {
        stack.push(this.#frame(state));
        continue;
      }
      this.#noteLongest(stack);
      stack.pop();
    }
    return { kind: 'undecided', steps: mostSteps };
  }

  #choose(frame: Frame<State>): State | undefined {
    while (frame.next < frame.candidates.length) {
      const candidate = frame.candidates[frame.next] ?? 0;
      frame.next += 1;
      const timed = this.#calls[candidate];
      const state = timed && this.#model.step(frame.state, timed.call);
      if (state === undefined) continue;
      this.#mark(candidate);
      frame.chosen = candidate;
      const key = this.#key(state);
      if (!this.#seen.has(key)) {
        this.#seen.add(key);
        return state;
      }
      this.#undo(frame);
    }
    return undefined;
  }

  #mark(candidate: number): void {
    this.#done[candidate] = true;
    while (this.#first < this.#answered && this.#done[this.#first]) this.#first += 1;
  }

  #undo(frame: Frame<State>): void {
    if (frame.chosen === undefined) return;
    this.#done[frame.chosen] = false;
    this.#first = Math.min(this.#first, frame.chosen);
    frame.chosen = undefined;
  }

  /** Whatever was called before the first answer that is still due may be next. */
  #frame(state: State): Frame<State> {
    const candidates: number[] = [];
    let due = Number.POSITIVE_INFINITY;
    for (let at = this.#first; at < this.#answered; at += 1) {
      const timed = this.#calls[at];
      if (timed === undefined || timed.invokedAt > due) break;
      if (this.#done[at]) continue;
      candidates.push(at);
      due = Math.min(due, timed.returnedAt);
    }
    for (let at = this.#answered; at < this.#calls.length; at += 1) {
      if ((this.#calls[at]?.invokedAt ?? due) >= due) break;
      if (!this.#done[at]) candidates.push(at);
    }
    return { state, candidates, next: 0, chosen: undefined };
  }

  #key(state: State): string {
    const beyond: number[] = [];
    const first = this.#calls[this.#first];
    for (let at = this.#first; first && at < this.#answered; at += 1) {
      if (this.#done[at]) beyond.push(at);
      else if ((this.#calls[at]?.invokedAt ?? 0) > first.returnedAt) break;
    }
    for (let at = this.#answered; at < this.#calls.length; at += 1) {
      if (this.#done[at]) beyond.push(at);
    }
    return `${this.#first} ${beyond.join(',')} ${this.#model.keyOf(state)}`;
  }

  #noteLongest(stack: readonly Frame<State>[]): void {
    if (stack.length - 1 <= this.#longest.order.length) return;
    const order = stack.flatMap(({ chosen }) => chosen ?? []);
    this.#longest = { order, stuck: stack.at(-1)?.candidates ?? [] };
  }

  #violation(): Verdict<Call> {
    const pick = (indexes: readonly number[]) => indexes.flatMap((at) => this.#calls[at] ?? []);
    const { order, stuck } = this.#longest;
    const beginning = stuck.length > 0 ? stuck : this.#frame(this.#model.initial).candidates;
    return {
      kind: 'violation',
      last: pick(order.slice(-EXCERPT)),
      stuck: pick(beginning.slice(0, EXCERPT)),
    };
  }
}
