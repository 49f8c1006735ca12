// One attack after another, each on a gateway of its own: quiet, attacked, quiet again.

import { setTimeout as delay } from 'node:timers/promises';
import { Child } from '../../bench/child.ts';
import { ownProgram } from '../../bench/own-program.ts';
import { type Attack, type Outcome, problemsIf } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks/index.ts';
import { type CoreWaits, NO_CORE_WAITS, openCoreWaits } from './core-waits.ts';
import { GatewayMemory } from './gateway-memory.ts';
import { type Observed, OrdinaryClient } from './ordinary-client.ts';
import { type Floors, judge, type Memory } from './verdict.ts';
import { openWorld } from './world.ts';

export interface AttackResult {
  readonly name: string;
  readonly about: string;
  readonly operations: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly quiet: Observed;
  readonly during: Observed;
  readonly memory: Memory;
  readonly coreWaits: CoreWaits;
  /** What did not hold. */
  readonly problems: readonly string[];
}

export interface AttackOptions {
  readonly seconds: number;
  readonly quietSeconds: number;
  readonly floors: Floors;
  /** Of the gateway, where they are not the defaults. */
  readonly limits?: Readonly<Record<string, number>>;
  readonly signal: AbortSignal;
}

const NONE = { sent: 0, ok: 0, p50: 0, p99: 0 };
const SILENT: Observed = {
  calls: NONE,
  updates: NONE,
  newcomers: NONE,
  direct: NONE,
  disk: NONE,
  failures: [],
};
const NOTHING: Memory = {
  before: { resident: 0, live: 0 },
  peak: 0,
  after: { resident: 0, live: 0 },
};

/** Of an attack that could not be carried to its end, because the gateway died of it, say. */
export function brokenOff(name: string, cause: unknown): AttackResult {
  const why = cause instanceof Error ? cause.message.slice(0, 500) : String(cause);
  const figures = { quiet: SILENT, during: SILENT, memory: NOTHING, coreWaits: NO_CORE_WAITS };
  return { name, about: '', operations: 0, counts: {}, ...figures, problems: [why] };
}

/** A hang guard, not a measure. */
const OVER_MS = 300_000;

export async function runAttack(name: AttackName, options: AttackOptions): Promise<AttackResult> {
  const { signal, floors, quietSeconds } = options;
  const attack: Attack = ATTACKS[name];
  await using world = await openWorld(signal, options.limits);
  // Up before anything is measured: to start a process takes a core for a while.
  await using attacker = await Child.start(ownProgram('../prove/abuse/attacker-program.ts'));
  await attacker.receive(OVER_MS, signal);
  const { url, ordinaryKey: key, agentUrl } = world;
  const { folder } = world.gateway;
  await using ordinary = await OrdinaryClient.open({ url, key, agentUrl, folder });
  using memory = new GatewayMemory(world.gateway);
  // The first requests pay for code that is compiled and connections that are opened.
  await ordinary.observe(delay((quietSeconds * 1_000) / 2, undefined, { signal }));
  const before = await memory.settled();
  const takeWait = openCoreWaits(world.gateway.pid);
  const quiet = await ordinary.observe(delay(quietSeconds * 1_000, undefined, { signal }));
  const quietWait = takeWait();
  memory.takePeak();
  const attacking = attackOnce(name, attacker, world, ordinary.session, options);
  const during = await ordinary.observe(attacking);
  const coreWaits = { quiet: quietWait, during: takeWait() };
  const { operations, counts, problems } = await attacking;
  const peak = memory.takePeak();
  const errors = attack.quietLog ? world.errorLines() : 0;
  const lostUpdates = await ordinary.lostUpdates();
  const after = await memory.settled().catch(() => undefined);
  const figures = { before, peak, after: after ?? NOTHING.after };
  const found = [
    ...problems,
    ...problemsIf({
      [`${errors} lines of level error were logged`]: errors > 0,
      'the gateway did not come to rest': after === undefined,
    }),
  ];
  const judged = { quiet, during, memory: figures, lostUpdates, problems: found };
  return {
    name,
    about: attack.about,
    operations,
    counts,
    quiet,
    during,
    memory: figures,
    coreWaits,
    problems: judge(judged, floors),
  };
}

async function attackOnce(
  attack: AttackName,
  attacker: Child,
  world: Awaited<ReturnType<typeof openWorld>>,
  session: string,
  { seconds, signal }: AttackOptions,
): Promise<Outcome> {
  const { agents = [] }: Attack = ATTACKS[attack];
  if (agents.length > 0) await world.useAgents(agents);
  const { url, attackerKey: key, ordinaryKey } = world;
  const target = { url, key, ordinaryKey, session, seconds };
  await attacker.send({ attack, target });
  const outcome = (await attacker.receive(OVER_MS, signal)) as Outcome;
  if (agents.length > 0) await world.useAgents([]);
  return outcome;
}
