// Which of several instances serves a call. Instances on the gateway's own node come first, then those of
// its region. Among the ready ones of a place, the better of two that were drawn at random by weight: by
// calls in flight and how fast it answered lately. One that joined or recovered takes its share little by
// little.

import { hostname } from 'node:os';
import type { AgentInstance, AgentRecord, Clock, InstanceKey } from '@starloom/core';
import type { PlacedInstance } from './instances.ts';

export interface ChoiceOptions {
  readonly clock: Clock;
  /** Of the gateway itself. */
  readonly nodeId?: string | undefined;
  readonly region?: string | undefined;
  /** From 0 to 1. */
  readonly random?: () => number;
  readonly slowStartMs?: number;
}

export interface Load {
  inFlight: number;
  /** Moving average of calls that were answered. */
  latencyMs: number | undefined;
  /** When it joined or recovered, on the monotonic clock. */
  rampFrom: number | undefined;
  isReady: boolean;
}

/** Instances that one call may try at an agent. */
const MAX_TRIED = 3;
const DEFAULT_WEIGHT = 100;
const SLOW_START_MS = 30_000;
const LEAST_SHARE = 0.1;
/** How much the last call counts in the average. */
const NEWEST_SHARE = 0.2;

export class InstanceChoice {
  readonly #options: ChoiceOptions;
  readonly #random: () => number;
  readonly #slowStartMs: number;
  readonly #ownNodes: ReadonlySet<string>;
  /** Of agents that have several, by agent and node. */
  readonly #loads = new Map<string, Map<string, Load>>();

  constructor(options: ChoiceOptions) {
    const { nodeId = hostname(), random = Math.random, slowStartMs = SLOW_START_MS } = options;
    this.#options = options;
    this.#random = random;
    this.#slowStartMs = slowStartMs;
    this.#ownNodes = new Set([nodeId, 'local']);
  }

  inOrder(placed: readonly PlacedInstance[]): readonly PlacedInstance[] {
    const ready = placed.filter(({ availability }) => availability === 'ready');
    const others = placed.filter(({ availability }) => availability !== 'ready');
    const groups = Object.groupBy(ready, ({ instance }) => this.#distanceOf(instance));
    const near = [groups[0], groups[1], groups[2]].flatMap((group = []) => this.#ranked(group));
    return [...near.slice(0, MAX_TRIED), ...others.slice(0, MAX_TRIED)];
  }

  /** Where it runs and how it does, for people; `far` says that no connection leads there. */
  describe(instance: AgentInstance, far: string): string {
    const where = ['own node', 'own region', 'another node'][this.#distanceOf(instance)];
    const { inFlight = 0, latencyMs } = this.#known(instance.manifest) ?? {};
    const share = this.#rampOf(instance);
    const words = [
      `node ${instance.manifest.node_id} (${where})`,
      `${inFlight} in flight`,
      ...(latencyMs === undefined ? [] : [`${Math.round(latencyMs)} ms lately`]),
      ...(far === '' ? [] : [far]),
      ...(share < 1 ? [`slow start at ${Math.round(share * 100)} %`] : []),
    ];
    return words.join(', ');
  }

  /** Counts a call until `endLoad`. */
  begin(key: InstanceKey): Load {
    const load = this.#loadOf(key);
    load.inFlight += 1;
    return load;
  }

  /** After a change of the agent or its health: what joined or recovered starts slowly. */
  note(
    agentId: string,
    record: AgentRecord | undefined,
    availabilityOf: (instance: AgentInstance, record: AgentRecord) => string,
  ): void {
    const instances = record?.instances ?? [];
    const known = this.#loads.get(agentId);
    if (!record || instances.length <= 1) {
      this.#loads.delete(agentId);
      return;
    }
    const nodes = new Set(instances.map(({ manifest }) => manifest.node_id));
    for (const node of known?.keys() ?? []) if (!nodes.has(node)) known?.delete(node);
    const hadOthers = known !== undefined && known.size > 0;
    for (const instance of instances) {
      const isNew = !known?.has(instance.manifest.node_id);
      const load = this.#loadOf(instance.manifest);
      const isReady = availabilityOf(instance, record) === 'ready';
      const isBack = isReady && !load.isReady;
      if (isBack && (!isNew || hadOthers)) load.rampFrom = this.#options.clock.monotonic();
      load.isReady = isReady;
    }
  }

  /** The better of two random ones first, then the others from good to bad. */
  #ranked(placed: readonly PlacedInstance[]): readonly PlacedInstance[] {
    if (placed.length <= 1) return placed;
    const scores = new Map(placed.map((each) => [each, this.#scoreOf(each, placed)]));
    const scoreOf = (each: PlacedInstance) => scores.get(each) ?? 0;
    const one = this.#draw(placed);
    const other = this.#draw(placed.filter((each) => each !== one));
    const first = scoreOf(other) < scoreOf(one) ? other : one;
    const rest = placed.filter((each) => each !== first).sort((a, b) => scoreOf(a) - scoreOf(b));
    return [first, ...rest];
  }

  #draw(placed: readonly PlacedInstance[]): PlacedInstance {
    const weights = placed.map(({ instance }) => this.#weightOf(instance));
    let left = this.#random() * weights.reduce((sum, weight) => sum + weight, 0);
    const found = placed.find((_, index) => {
      left -= weights[index] ?? 0;
      return left < 0;
    });
    return found ?? (placed.at(-1) as PlacedInstance);
  }

  /** How long a call would take, in a way; one without a past counts as the average of the others. */
  #scoreOf({ instance }: PlacedInstance, among: readonly PlacedInstance[]): number {
    const weight = this.#weightOf(instance);
    if (weight === 0) return Number.POSITIVE_INFINITY;
    const loads = among.map((each) => this.#known(each.instance.manifest));
    const known = loads.flatMap((load) => load?.latencyMs ?? []);
    const average = known.length === 0 ? 1 : known.reduce((a, b) => a + b, 0) / known.length;
    const { inFlight = 0, latencyMs = average } = this.#known(instance.manifest) ?? {};
    return ((inFlight * DEFAULT_WEIGHT) / weight + 1) * Math.max(latencyMs, 1);
  }

  #weightOf(instance: AgentInstance): number {
    return (instance.manifest.weight ?? DEFAULT_WEIGHT) * this.#rampOf(instance);
  }

  /** Its share of its weight. */
  #rampOf({ manifest }: AgentInstance): number {
    const from = this.#known(manifest)?.rampFrom;
    if (from === undefined) return 1;
    const share = (this.#options.clock.monotonic() - from) / this.#slowStartMs;
    return Math.min(1, Math.max(LEAST_SHARE, share));
  }

  #distanceOf({ manifest: { node_id, region } }: AgentInstance): 0 | 1 | 2 {
    if (this.#ownNodes.has(node_id)) return 0;
    return region !== undefined && region === this.#options.region ? 1 : 2;
  }

  #known({ agent_id, node_id }: InstanceKey): Load | undefined {
    return this.#loads.get(agent_id)?.get(node_id);
  }

  #loadOf(key: InstanceKey): Load {
    const known = this.#known(key);
    if (known) return known;
    const load = { inFlight: 0, latencyMs: undefined, rampFrom: undefined, isReady: false };
    const ofAgent = this.#loads.get(key.agent_id) ?? new Map<string, Load>();
    this.#loads.set(key.agent_id, ofAgent.set(key.node_id, load));
    return load;
  }
}

export function endLoad(load: Load, answeredMs: number | undefined): void {
  load.inFlight -= 1;
  if (answeredMs === undefined) return;
  const before = load.latencyMs ?? answeredMs;
  load.latencyMs = before + (answeredMs - before) * NEWEST_SHARE;
}
