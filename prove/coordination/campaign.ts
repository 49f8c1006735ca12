// Rounds of work with faults in between. Each has sessions and a history of its own, is brought to
// rest and judged as a whole, so that a campaign of any length needs the memory of one round.

import { setTimeout as delay } from 'node:timers/promises';
import { check } from './check.ts';
import { History } from './history.ts';
import { PausedHolder } from './paused-holder.ts';
import { Random } from './random.ts';
import type { Violation } from './violation.ts';
import { Workload } from './workload.ts';
import { openWorld, type StoreName, type World } from './world.ts';

export interface CampaignOptions {
  readonly store: StoreName;
  readonly seconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface CampaignResult {
  readonly store: StoreName;
  readonly operations: number;
  /** By what became of them: ok, refused, unknown. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly deliveries: number;
  readonly gaps: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly keys: number;
  readonly undecided: number;
  readonly rounds: number;
  readonly violations: readonly Violation[];
  readonly versions: Readonly<Record<string, string>>;
}

const ROUND_MS = 5_000;
const SIZES = { clients: 12, subscribers: 3, lockMs: 250 };
const CALM_MS = { least: 100, more: 500 };

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { store, seconds, seed, signal, tell } = options;
  const random = new Random(seed);
  await using world = await openWorld(store, random.fork());
  await using holder = await PausedHolder.start();
  const total = new Tally(world);
  const end = performance.now() + seconds * 1_000;
  for (let left = seconds * 1_000; left > 0; left = end - performance.now()) {
    signal.throwIfAborted();
    const round = { world, holder, random, signal, name: `round${total.rounds + 1}` };
    const history = await runRound(round, Math.ceil(Math.min(ROUND_MS, left)), (fault) =>
      total.fault(fault),
    );
    const found = total.add(history);
    tell(total.line());
    for (const { invariant, message } of found) tell(`  ${invariant}: ${message}`);
  }
  return total.result();
}

interface Round {
  readonly name: string;
  readonly world: World;
  readonly holder: PausedHolder;
  readonly random: Random;
  readonly signal: AbortSignal;
}

async function runRound(round: Round, forMs: number, onFault: (fault: string) => void) {
  const { name, world, random, signal } = round;
  const history = new History();
  const open = (client: number) => world.open(client);
  const workload = new Workload({ name, open, history, random, ...SIZES }, signal);
  await workload.prepare();
  const stop = AbortSignal.any([signal, AbortSignal.timeout(forMs)]);
  await Promise.all([workload.run(stop), injectFaults(round, history, workload, stop, onFault)]);
  world.heal();
  await workload.audit();
  return history;
}

async function injectFaults(
  { world, holder, random, signal }: Round,
  history: History,
  { places }: Workload,
  stop: AbortSignal,
  onFault: (fault: string) => void,
): Promise<void> {
  const session = places.locked[0];
  const pause = async () => {
    const gateway = random.pick(world.gateways);
    if (await holder.pause({ gateway, history, session, signal })) onFault('late_write');
  };
  const faults = Object.entries({ ...world.faults, pause_holder: pause });
  while (!stop.aborted) {
    await delay(CALM_MS.least + random.below(CALM_MS.more), undefined, { signal });
    const [name, inject] = faults[random.below(faults.length)] ?? [];
    if (name === undefined || inject === undefined || stop.aborted) continue;
    await inject();
    onFault(name);
  }
}

/** A late write is the end of a pause, not a fault of its own. */
export function countFaults({ late_write: _, ...faults }: CampaignResult['faults']): number {
  return Object.values(faults).reduce((total, count) => total + count, 0);
}

class Tally {
  rounds = 0;
  readonly #world: World;
  readonly #faults: Record<string, number> = {};
  readonly #outcomes: Record<string, number> = {};
  readonly #violations: Violation[] = [];
  #operations = 0;
  #deliveries = 0;
  #gaps = 0;
  #keys = 0;
  #undecided = 0;

  constructor(world: World) {
    this.#world = world;
  }

  fault(name: string): void {
    this.#faults[name] = (this.#faults[name] ?? 0) + 1;
  }

  /** The violations in it. */
  add(history: History): readonly Violation[] {
    const { violations, keys, undecided } = check(history);
    this.rounds += 1;
    this.#violations.push(...violations);
    this.#keys += keys;
    this.#undecided += undecided;
    this.#operations += history.operations.length;
    for (const { outcome } of history.operations) {
      this.#outcomes[outcome.kind] = (this.#outcomes[outcome.kind] ?? 0) + 1;
    }
    for (const { deliveries } of history.subscriptions) {
      this.#deliveries += deliveries.length;
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
      deliveries: this.#deliveries,
      gaps: this.#gaps,
      faults: this.#faults,
      keys: this.#keys,
      undecided: this.#undecided,
      violations: this.#violations,
    };
  }
}
