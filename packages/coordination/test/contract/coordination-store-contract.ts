import { afterEach, beforeEach, describe } from 'vitest';
import { commitContract, idempotencyContract } from './commit-contract.ts';
import { eventContract } from './event-contract.ts';
import { expiryContract, leaseContract } from './lease-contract.ts';
import { queueContract } from './queue-contract.ts';
import { type CoordinationStoreSubject, StoreScenario } from './scenario.ts';

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
