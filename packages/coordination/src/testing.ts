import { type Clock, systemClock } from '@starloom/core';
import { CoordinationMachine } from './engine/coordination-machine.ts';
import type { AskedEventLimits } from './engine/event-log.ts';
import { engineTime, MachineStore } from './engine/machine-store.ts';

/** Coordination state that lives as long as the process: the state machine alone. */
export class MemoryCoordinationStore extends MachineStore {
  constructor({
    clock = systemClock,
    ...limits
  }: { readonly clock?: Clock } & AskedEventLimits = {}) {
    const machine = new CoordinationMachine(limits);
    super({ machine, now: engineTime(clock) });
  }
}
