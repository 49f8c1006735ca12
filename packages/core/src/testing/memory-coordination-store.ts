import { type Clock, systemClock } from '../clock.ts';
import { CoordinationMachine } from '../coordination/coordination-machine.ts';
import { engineTime } from '../coordination/engine-time.ts';
import type { AskedEventLimits } from '../coordination/event-log.ts';
import { MachineStore } from '../coordination/machine-store.ts';

/** Coordination state that lives as long as the process: the state machine, and nothing beside. */
export class MemoryCoordinationStore extends MachineStore {
  constructor({
    clock = systemClock,
    ...limits
  }: { readonly clock?: Clock } & AskedEventLimits = {}) {
    const machine = new CoordinationMachine(limits);
    super({ machine, now: engineTime(clock) });
  }
}
