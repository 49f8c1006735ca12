// Which instance of an agent serves a call, and whether it may now. An agent with one instance costs no
// choice (`instance-choice.ts`).

import { type AgentInstance, type AgentRecord, instanceKey } from '@starloom/core';
import type { NodeLinks } from '../nodes/node-links.ts';
import type { Breakers } from './breakers.ts';
import { type ChoiceOptions, endLoad, InstanceChoice, type Load } from './instance-choice.ts';

interface InstancesOptions extends ChoiceOptions {
  readonly breakers: Pick<Breakers, 'isOpen'>;
  /** Those that are connected here. */
  readonly nodes?: Pick<NodeLinks, 'isLinked'>;
}

/** An instance in its place of the route, and why it is there. */
export interface PlacedInstance {
  readonly instance: AgentInstance;
  readonly availability: 'ready' | 'offline' | 'open-circuit' | 'draining';
  readonly circuit: string;
  readonly place: string;
}

export class Instances {
  readonly #options: InstancesOptions;
  readonly #choice: InstanceChoice;

  constructor(options: InstancesOptions) {
    this.#options = options;
    this.#choice = new InstanceChoice(options);
  }

  /** The instances to try, in order; one that a conversation is bound to is the only one. */
  place(record: AgentRecord, nodeId?: string): readonly PlacedInstance[] {
    const all = instancesOf(record);
    const [only] = all;
    if (only && all.length === 1 && nodeId === undefined) return [this.#placed(only, record)];
    const usable = all.filter(
      ({ hold, manifest }) => !hold && (nodeId === undefined || manifest.node_id === nodeId),
    );
    const placed = usable.map((instance) => this.#placed(instance, record));
    if (placed.length <= 1) return placed;
    return this.#choice.inOrder(placed);
  }

  /** Whether one of its instances may serve a call now. */
  isReady(record: AgentRecord): boolean {
    return instancesOf(record).some((instance) => {
      return !instance.hold && this.#availabilityOf(instance, record) === 'ready';
    });
  }

  /** Counts a call at the instance until `end` is called; of an agent with one instance nothing. */
  begin(record: Pick<AgentRecord, 'instances' | 'manifest'>): Load | undefined {
    if ((record.instances?.length ?? 1) <= 1) return undefined;
    return this.#choice.begin(record.manifest);
  }

  end(load: Load | undefined, answeredMs: number | undefined): void {
    if (load) endLoad(load, answeredMs);
  }

  /** After a change of the agent or its health. */
  note(agentId: string, record: AgentRecord | undefined): void {
    this.#choice.note(agentId, record, (instance, of) => this.#availabilityOf(instance, of));
  }

  #placed(instance: AgentInstance, record: AgentRecord): PlacedInstance {
    const circuit = circuitOf(record, instance);
    const availability = this.#availabilityOf(instance, record);
    const { node_id } = instance.manifest;
    const far = this.#isLinked(instance) ? '' : `node ${node_id} is not connected to this gateway`;
    if ((record.instances?.length ?? 1) <= 1)
      return { instance, availability, circuit, place: far };
    return { instance, availability, circuit, place: this.#choice.describe(instance, far) };
  }

  #availabilityOf(instance: AgentInstance, record: AgentRecord): PlacedInstance['availability'] {
    if (instance.state === 'draining') return 'draining';
    if (!this.#isLinked(instance)) return 'offline';
    if (this.#options.breakers.isOpen(circuitOf(record, instance))) return 'open-circuit';
    return instance.health.status === 'offline' ? 'offline' : 'ready';
  }

  /** False for one behind a node that is not connected to this gateway. */
  #isLinked({ manifest }: AgentInstance): boolean {
    return (
      manifest.endpoint.transport !== 'node' || this.#options.nodes?.isLinked(manifest) === true
    );
  }
}

/** The circuit of an agent with one instance has its name; else each instance has its own. */
export function circuitOf(
  { instances }: Pick<AgentRecord, 'instances'>,
  { manifest }: Pick<AgentInstance, 'manifest'>,
): string {
  return (instances?.length ?? 1) > 1 ? instanceKey(manifest) : manifest.agent_id;
}

/** A backend of another package may not know instances. */
export function instancesOf(record: AgentRecord): readonly AgentInstance[] {
  const { manifest, health } = record;
  return record.instances ?? [{ manifest, health, revision: 0, state: 'active' }];
}
