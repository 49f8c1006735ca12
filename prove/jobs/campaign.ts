// Rounds of work with faults in between. Each has a history of its own, is brought to rest and judged as
// a whole, so that a campaign of any length needs the memory of one round.

import { setTimeout as delay } from 'node:timers/promises';
import { Deck } from '../coordination/deck.ts';
import { Random } from '../coordination/random.ts';
import { check, type Violation } from './check.ts';
import { History } from './history.ts';
import { Workload } from './workload.ts';
import type { World } from './world.ts';

export interface CampaignOptions {
  readonly open: (random: Random) => Promise<World>;
  readonly seconds: number;
  readonly seed: number;
  readonly clients?: number;
  readonly followMs?: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
  /** How long jobs may take to end once nothing breaks any more. */
  readonly restMs?: number;
}

export interface CampaignResult {
  readonly name: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly jobs: number;
  /** By the state they ended in. */
  readonly ends: Readonly<Record<string, number>>;
  readonly interrupted: number;
  readonly effects: number;
  readonly streams: number;
  readonly events: number;
  readonly reconnects: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

const ROUND_MS = 12_000;
const CALM_MS = { least: 150, more: 700 };

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { seconds, seed, signal, tell, clients = 16, restMs = 40_000, followMs = 20_000 } = options;
  const random = new Random(seed);
  await using world = await options.open(random.fork());
  const total = new Total(world);
  const deck = new Deck(Object.keys(world.faults) as [string, ...string[]], random.fork());
  const end = performance.now() + seconds * 1_000;
  for (let left = seconds * 1_000; left > 0; left = end - performance.now()) {
    signal.throwIfAborted();
    const history = new History();
    world.agent.effects = history.effects;
    world.onDeath((why) => history.deaths.push(why));
    const { doors, agent } = world;
    const own = random.fork();
    const workload = new Workload({
      doors,
      history,
      random: own,
      agentUrl: agent.url,
      clients,
      followMs,
    });
    const over = new AbortController();
    const working = workload.run(AbortSignal.any([signal, over.signal]));
    await inject(world, deck, random, Math.min(ROUND_MS, left), signal, (kind) =>
      total.fault(kind),
    );
    over.abort();
    await working;
    await workload.audit(restMs);
    const found = total.add(history);
    tell(total.line());
    for (const { invariant, message } of found.slice(0, 10)) tell(`  ${invariant}: ${message}`);
  }
  return total.result();
}

/** For this long, and until each kind has happened. */
async function inject(
  world: World,
  deck: Deck<string>,
  random: Random,
  forMs: number,
  signal: AbortSignal,
  onFault: (kind: string) => void,
): Promise<void> {
  const end = performance.now() + forMs;
  const isOver = () => performance.now() >= end && deck.isThrough;
  while (!isOver()) {
    await delay(CALM_MS.least + random.below(CALM_MS.more), undefined, { signal });
    if (isOver()) return;
    const kind = deck.draw();
    await world.faults[kind]?.();
    onFault(kind);
  }
}

class Total {
  readonly #world: World;
  readonly #faults: Record<string, number>;
  readonly #ends: Record<string, number> = {};
  readonly #requests: Record<string, number> = { ok: 0, refused: 0, unknown: 0 };
  readonly #violations: Violation[] = [];
  readonly #sums = {
    rounds: 0,
    jobs: 0,
    interrupted: 0,
    effects: 0,
    streams: 0,
    events: 0,
    reconnects: 0,
  };

  constructor(world: World) {
    this.#world = world;
    this.#faults = Object.fromEntries(Object.keys(world.faults).map((kind) => [kind, 0]));
  }

  fault(kind: string): void {
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
  }

  add(history: History): readonly Violation[] {
    const found = check(history);
    this.#violations.push(...found);
    const sums = this.#sums;
    sums.rounds += 1;
    sums.jobs += history.accepted.size;
    sums.effects += history.effects.length;
    sums.streams += history.streams.length;
    for (const { items, reconnects } of history.streams) {
      sums.events += items.length;
      sums.reconnects += reconnects;
    }
    for (const { state, reason } of history.stored.values()) {
      this.#ends[state] = (this.#ends[state] ?? 0) + 1;
      if (reason === 'interrupted') sums.interrupted += 1;
    }
    for (const [kind, n] of Object.entries(history.requests)) {
      this.#requests[kind] = (this.#requests[kind] ?? 0) + n;
    }
    return found;
  }

  line(): string {
    const { rounds, jobs } = this.#sums;
    const faults = Object.values(this.#faults).reduce((sum, n) => sum + n, 0);
    const counts = `${jobs} jobs, ${faults} faults, ${this.#violations.length} violations`;
    return `${this.#world.name}, round ${rounds}: ${counts}`;
  }

  result(): CampaignResult {
    const { name, versions } = this.#world;
    return {
      name,
      versions,
      ...this.#sums,
      ends: this.#ends,
      requests: this.#requests,
      faults: this.#faults,
      violations: this.#violations,
    };
  }
}
