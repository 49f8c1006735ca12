// Rounds of work with faults in between. Each has sessions and a history of its own, is brought to
// rest and judged as a whole, so that a campaign of any length needs the memory of one round.

import { History } from './history.ts';
import { Faults, faultKinds } from './inject-faults.ts';
import { PausedHolder } from './paused-holder.ts';
import { Random } from './random.ts';
import { type CampaignResult, Tally } from './tally.ts';
import { Workload } from './workload.ts';
import { openWorld, type StoreName, type World } from './world.ts';

export interface CampaignOptions {
  readonly store: StoreName;
  readonly seconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

const ROUND_MS = 5_000;
const SIZES = { clients: 12, subscribers: 3, lockMs: 250 };

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { store, seconds, seed, signal, tell } = options;
  const random = new Random(seed);
  await using world = await openWorld(store, random.fork());
  await using holder = await PausedHolder.start();
  const total = new Tally(world, faultKinds(world));
  const onFault = (kind: string) => total.fault(kind);
  const faults = new Faults({ world, holder, random: random.fork(), signal, onFault });
  const end = performance.now() + seconds * 1_000;
  for (let left = seconds * 1_000; left > 0; left = end - performance.now()) {
    signal.throwIfAborted();
    const name = `round${total.rounds + 1}`;
    const forMs = Math.min(ROUND_MS, left);
    const history = await runRound({ name, world, faults, random: random.fork(), signal, forMs });
    const found = total.add(history);
    tell(total.line());
    for (const { invariant, message } of found) tell(`  ${invariant}: ${message}`);
  }
  return total.result();
}

interface Round {
  readonly name: string;
  readonly world: World;
  readonly faults: Faults;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly forMs: number;
}

async function runRound({ name, world, faults, random, signal, forMs }: Round): Promise<History> {
  const history = new History();
  const open = (client: number) => world.open(client);
  const workload = new Workload({ name, open, history, random, ...SIZES }, signal);
  await workload.prepare();
  const over = new AbortController();
  const injected = faults
    .inject(history, workload.places.locked[0], forMs)
    .finally(() => over.abort());
  await Promise.all([workload.run(AbortSignal.any([signal, over.signal])), injected]);
  world.heal();
  await workload.audit();
  return history;
}
