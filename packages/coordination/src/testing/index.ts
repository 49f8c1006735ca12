import { type Clock, systemClock } from '@starloom/core';
import { afterEach, beforeEach, describe } from 'vitest';
import { CoordinationMachine } from '../engine/coordination-machine.ts';
import type { AskedEventLimits } from '../engine/event-log.ts';
import { engineTime, MachineStore } from '../engine/machine-store.ts';
import { commitContract, idempotencyContract } from './coordination-store/commit-contract.ts';
import { eventContract } from './coordination-store/event-contract.ts';
import { expiryContract, leaseContract } from './coordination-store/lease-contract.ts';
import { queueContract } from './coordination-store/queue-contract.ts';
import { type CoordinationStoreSubject, StoreScenario } from './coordination-store/scenario.ts';

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

export type { CoordinationStoreSubject };

/** What every coordination store must do. */
export function coordinationStoreContract(
  name: string,
  open: () => Promise<CoordinationStoreSubject>,
): void {
  describe(`coordination store contract: ${name}`, () => {
    let scenario: StoreScenario;
    beforeEach(async () => {
      scenario = new StoreScenario(await open());
    });
    afterEach(async () => {
      await scenario.store.close();
      await scenario.subject.close();
    });

    const current = () => scenario;
    describe('commits', () => commitContract(current));
    describe('events', () => eventContract(current));
    describe('leases', () => leaseContract(current));
    describe('queues', () => queueContract(current));
    describe('expiry', () => expiryContract(current));
    describe('idempotency', () => idempotencyContract(current));
  });
}
