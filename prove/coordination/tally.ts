import { toActs } from './acts.ts';
import { check } from './check.ts';
import type { History } from './history.ts';
import type { Violation } from './violation.ts';
import type { StoreName, World } from './world.ts';

export interface CampaignResult {
  readonly store: StoreName;
  readonly operations: number;
  /** By what became of them: ok, refused, unknown. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** By what was done or refused, as far as it must have happened. */
  readonly acts: Readonly<Record<string, number>>;
  readonly deliveries: number;
  readonly gaps: number;
  /** Of every kind that there is, also those that did not happen. */
  readonly faults: Readonly<Record<string, number>>;
  readonly keys: number;
  readonly undecided: number;
  readonly rounds: number;
  readonly violations: readonly Violation[];
  readonly versions: Readonly<Record<string, string>>;
}

/** A late write is the end of a pause, not a fault of its own. */
export function countFaults({ late_write: _, ...faults }: CampaignResult['faults']): number {
  return Object.values(faults).reduce((total, count) => total + count, 0);
}

/** What a campaign has come to so far. */
export class Tally {
  rounds = 0;
  readonly #world: Pick<World, 'store' | 'versions'>;
  readonly #faults: Record<string, number>;
  readonly #outcomes: Record<string, number> = {};
  readonly #acts: Record<string, number> = {};
  readonly #violations: Violation[] = [];
  #operations = 0;
  #deliveries = 0;
  #gaps = 0;
  #keys = 0;
  #undecided = 0;

  /** `kinds` are the faults that are to happen. */
  constructor(world: Pick<World, 'store' | 'versions'>, kinds: readonly string[]) {
    this.#world = world;
    this.#faults = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  }

  fault(name: string): void {
    countOne(this.#faults, name);
  }

  /** The violations in it. */
  add(history: History): readonly Violation[] {
    const { violations, keys, undecided } = check(history);
    this.rounds += 1;
    this.#violations.push(...violations);
    this.#keys += keys;
    this.#undecided += undecided;
    this.#operations += history.operations.length;
    for (const recorded of history.operations) {
      countOne(this.#outcomes, recorded.outcome.kind);
      for (const act of toActs(recorded)) countOne(this.#acts, act);
    }
    for (const { deliveries } of history.subscriptions) {
      this.#deliveries += deliveries.filter(({ kind }) => kind === 'update').length;
      this.#gaps += deliveries.filter(({ kind }) => kind === 'gap').length;
    }
    return violations;
  }

  line(): string {
    const { store } = this.#world;
    const counts = `${this.#operations} operations, ${countFaults(this.#faults)} faults`;
    return `${store}, round ${this.rounds}: ${counts}, ${this.#violations.length} violations`;
  }

  result(): CampaignResult {
    const { store, versions } = this.#world;
    return {
      store,
      versions,
      rounds: this.rounds,
      operations: this.#operations,
      outcomes: this.#outcomes,
      acts: this.#acts,
      deliveries: this.#deliveries,
      gaps: this.#gaps,
      faults: this.#faults,
      keys: this.#keys,
      undecided: this.#undecided,
      violations: this.#violations,
    };
  }
}

function countOne(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
