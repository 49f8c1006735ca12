export {
  type CoordinationStoreSubject,
  coordinationStoreContract,
} from './coordination-store-contract.ts';
export { MemoryCoordinationStore } from './memory-coordination-store.ts';
