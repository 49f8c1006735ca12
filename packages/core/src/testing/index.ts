export { MemoryRegistry } from '../memory-registry.ts';
export type { Misbehaviour } from './adapter-behaviours.ts';
export {
  type AdapterContractOptions,
  adapterContract,
} from './adapter-contract.ts';
export { ContractAgent, type ContractRequest } from './contract-agent.ts';
export {
  exampleEnvelope,
  exampleManifest,
  ManualClock,
  MemoryAdapter,
  type MemoryAgent,
} from './fakes.ts';
export { type RegistrySubject, registryContract } from './registry-contract.ts';
