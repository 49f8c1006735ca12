import { type Clock, systemClock } from '../clock.ts';
import { CoordinationMachine } from '../coordination/coordination-machine.ts';
import { MachineStore } from '../coordination/machine-store.ts';

/** Coordination state that lives as long as the process: the state machine, and nothing beside. */
export class MemoryCoordinationStore extends MachineStore {
  constructor({
    clock = systemClock,
    keepEvents,
  }: { readonly clock?: Clock; readonly keepEvents?: number } = {}) {
    const machine = new CoordinationMachine({ keepEvents });
    super({ machine, now: () => clock.now() });
  }
}
