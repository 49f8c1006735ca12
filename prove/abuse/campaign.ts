// One attack after another, each on a gateway of its own, and in several rounds: quiet, attacked, at rest. What
// other programs do to the machine then shows in both; a round in which they did much is repeated. The first round
// is reported apart: the gateway meets the attack for the first time, and compiles the code for it meanwhile.

import { setTimeout as delay } from 'node:timers/promises';
import { Child } from '../../bench/child.ts';
import { ownProgram } from '../../bench/own-program.ts';
import { type Attack, type Outcome, problemsIf } from './attack.ts';
import { ATTACKS, type AttackName } from './attacks/index.ts';
import { GatewayProbe, type Turns } from './gateway-probe.ts';
import { comesToRest, type MachineLoad, openMachineLoad } from './machine-load.ts';
import {
  type Latencies,
  type Observed,
  OrdinaryClient,
  type Slice,
  toLatencies,
  toObserved,
} from './ordinary-client.ts';
import { type Floors, judge, type Memory } from './verdict.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export interface AttackResult {
  readonly name: string;
  readonly about: string;
  readonly operations: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly quiet: Observed;
  /** In the first round. */
  readonly first: Observed;
  /** In the others. */
  readonly during: Observed;
  /** The ordinary calls by way of a bare proxy, while that is attacked in the same way. */
  readonly proxy?: { readonly quiet: Latencies; readonly during: Latencies } | undefined;
  readonly memory: Memory;
  /** Every round, those included that are not part of the figures. */
  readonly rounds: readonly RoundFigures[];
  /** What did not hold. */
  readonly problems: readonly string[];
}

export interface RoundFigures {
  readonly quiet: SliceFigures;
  readonly during: SliceFigures;
}

export interface SliceFigures extends MachineLoad {
  /** Of calls. */
  readonly p99: number;
  readonly turns: Turns;
}

export interface AttackOptions {
  /** The program of the gateway. */
  readonly command?: string | undefined;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly quietSeconds: number;
  readonly rounds: number;
  /** So many rounds more where the machine was busy with other things. */
  readonly repeats: number;
  readonly floors: Floors;
  readonly signal: AbortSignal;
}

const NOTHING: Memory = {
  before: { resident: 0, live: 0 },
  peak: 0,
  after: { resident: 0, live: 0 },
};

/** Of an attack that could not be carried to its end, because the gateway died of it, say. */
export function brokenOff(name: string, cause: unknown): AttackResult {
  const why = cause instanceof Error ? cause.message.slice(0, 500) : String(cause);
  const silent = toObserved([]);
  const figures = { quiet: silent, first: silent, during: silent, memory: NOTHING, rounds: [] };
  return { name, about: '', operations: 0, counts: {}, ...figures, problems: [why] };
}

/** Hang guards, not measures. */
const OVER_MS = 300_000;
const REST_MS = 60_000;
/** A round is repeated where other programs had more than this share of the cores. */
export const MAX_FOREIGN = 0.1;
/** And where the host had the cores while more than this share of the calls was under way. */
const MAX_STOLEN = 0.5;

export async function runAttack(name: AttackName, options: AttackOptions): Promise<AttackResult> {
  const { signal, floors, quietSeconds, repeats } = options;
  const attack: Attack = ATTACKS[name];
  const { command, warmUpSeconds } = options;
  await using scene = await openScene(signal, { hasProxy: attack.isProxied === true, command });
  const { world, ordinary } = scene;
  using probe = new GatewayProbe(world.gateway);
  // The first requests pay for code that is compiled and connections that are opened.
  await ordinary.warmUp(warmUpSeconds);
  await ordinary.observe(delay((quietSeconds * 1_000) / 2, undefined, { signal }));
  const before = await probe.settled();
  probe.takePeak();
  await probe.watchTurns();
  const first = await runRound(name, scene, probe, options);
  const later: Round[] = [];
  const wanted = () => options.rounds + Math.min(repeats, later.filter(isDisturbed).length);
  while (later.length < wanted()) {
    await comesToRest(world.gateway.pid, REST_MS, signal);
    later.push(await runRound(name, scene, probe, options));
  }
  const rounds = [first, ...later];
  const calm = later.filter((round) => !isDisturbed(round));
  const counted = calm.length > 0 ? calm : later;
  const seen = {
    quiet: toObserved(counted.map((round) => round.quiet.slice)),
    first: toObserved([first.during.slice]),
    during: toObserved(counted.map((round) => round.during.slice)),
  };
  const proxy = await attackProxy(name, scene, options);
  const peak = probe.takePeak();
  const errors = attack.quietLog ? world.errorLines() : 0;
  const lostUpdates = await ordinary.lostUpdates();
  const after = await probe.settled().catch(() => undefined);
  const figures = { before, peak, after: after ?? NOTHING.after };
  const problems = [
    ...new Set(rounds.flatMap(({ outcome }) => outcome.problems)),
    ...problemsIf({
      [`${errors} lines of level error were logged`]: errors > 0,
      'the gateway did not come to rest': after === undefined,
    }),
  ];
  return {
    name,
    about: attack.about,
    operations: rounds.reduce((sum, { outcome }) => sum + outcome.operations, 0),
    counts: sumOf(rounds.map(({ outcome }) => outcome.counts)),
    ...seen,
    proxy,
    memory: figures,
    rounds: rounds.map(toFigures),
    problems: judge({ ...seen, memory: figures, lostUpdates, problems }, floors),
  };
}

/** A gateway, an attacker, and the client that must not notice the attack. */
export interface Scene extends AsyncDisposable {
  readonly world: World;
  readonly attacker: Child;
  readonly ordinary: OrdinaryClient;
  readonly signal: AbortSignal;
}

export async function openScene(signal: AbortSignal, options: WorldOptions = {}): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await openWorld(signal, options));
  // Up before anything is measured: to start a process takes a core for a while.
  const program = ownProgram('../prove/abuse/attacker-program.ts');
  const attacker = opened.use(await Child.start(program));
  await attacker.receive(OVER_MS, signal);
  const { url, ordinaryKey: key, agentUrl, proxyUrl } = world;
  const { folder } = world.gateway;
  const ordinary = await OrdinaryClient.open({ url, key, agentUrl, folder, proxyUrl });
  opened.use(ordinary);
  const kept = opened.move();
  const dispose = () => kept.disposeAsync();
  return { world, attacker, ordinary, signal, [Symbol.asyncDispose]: dispose };
}

/** One attack, and what the ordinary client saw meanwhile. */
export async function attackOnce(
  name: AttackName,
  scene: Scene,
  seconds: number,
): Promise<{ readonly outcome: Outcome; readonly slice: Slice }> {
  const { agents = [] }: Attack = ATTACKS[name];
  const { world, ordinary } = scene;
  const attack = async () => {
    if (agents.length > 0) await world.useAgents(agents);
    const outcome = await aim(name, scene, seconds, world.url);
    if (agents.length > 0) await world.useAgents([]);
    return outcome;
  };
  const attacking = attack();
  const slice = await ordinary.observe(attacking);
  return { outcome: await attacking, slice };
}

interface Round {
  readonly outcome: Outcome;
  readonly quiet: LoadedSlice;
  readonly during: LoadedSlice;
}

interface LoadedSlice {
  readonly slice: Slice;
  readonly load: MachineLoad;
  readonly turns: Turns;
}

async function runRound(
  name: AttackName,
  scene: Scene,
  probe: GatewayProbe,
  { seconds, quietSeconds, signal }: AttackOptions,
): Promise<Round> {
  const { world, ordinary } = scene;
  const { pid } = world.gateway;
  const wait = () => delay(quietSeconds * 1_000, undefined, { signal });
  const watch = async <Seen extends { readonly slice: Slice }>(see: () => Promise<Seen>) => {
    await probe.takeTurns();
    const takeLoad = openMachineLoad(pid);
    const seen = await see();
    return { ...seen, load: takeLoad(), turns: await probe.takeTurns() };
  };
  const quiet = await watch(async () => ({ slice: await ordinary.observe(wait()) }));
  const { outcome, ...during } = await watch(() => attackOnce(name, scene, seconds));
  return { outcome, quiet, during };
}

/** As long as all rounds that count together. */
async function attackProxy(
  name: AttackName,
  scene: Scene,
  { seconds, quietSeconds, rounds, signal }: AttackOptions,
): Promise<AttackResult['proxy']> {
  const { world, ordinary } = scene;
  if (world.proxyUrl === undefined) return undefined;
  await comesToRest(world.gateway.pid, REST_MS, signal);
  const wait = delay(rounds * quietSeconds * 1_000, undefined, { signal });
  const quiet = await ordinary.observeProxy(wait);
  const attack = aim(name, scene, rounds * seconds, world.proxyUrl);
  const during = await ordinary.observeProxy(attack);
  return { quiet: toLatencies(quiet), during: toLatencies(during) };
}

async function aim(
  attack: AttackName,
  { world, attacker, ordinary, signal }: Scene,
  seconds: number,
  url: string,
): Promise<Outcome> {
  const { attackerKey: key, ordinaryKey } = world;
  const isProxy = url === world.proxyUrl;
  const target = { url, key, ordinaryKey, session: ordinary.session, isProxy, seconds };
  await attacker.send({ attack, target });
  return (await attacker.receive(OVER_MS, signal)) as Outcome;
}

function isDisturbed({ quiet, during }: Round): boolean {
  return [quiet, during].some(({ load, slice }) => {
    const { stolen, sent } = toLatencies(slice.samples.calls);
    return load.foreign > MAX_FOREIGN || stolen > MAX_STOLEN * sent;
  });
}

function toFigures({ quiet, during }: Round): RoundFigures {
  const of = ({ slice, load, turns }: LoadedSlice) => {
    return { p99: toLatencies(slice.samples.calls).p99, ...load, turns };
  };
  return { quiet: of(quiet), during: of(during) };
}

function sumOf(all: readonly Outcome['counts'][]): Outcome['counts'] {
  const names = new Set(all.flatMap(Object.keys));
  return Object.fromEntries(
    [...names].map((name) => [name, all.reduce((sum, counts) => sum + (counts[name] ?? 0), 0)]),
  );
}
