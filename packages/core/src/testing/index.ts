export { MemoryRegistry } from '../memory-registry.ts';
export {
  type AdapterContractOptions,
  type AdapterSubject,
  adapterContract,
} from './adapter-contract.ts';
export { ContractAgent, type ContractRequest } from './contract-agent.ts';
export { exampleEnvelope, exampleManifest } from './examples.ts';
export { ManualClock } from './manual-clock.ts';
export { MemoryAdapter, type MemoryAgent } from './memory-adapter.ts';
export type { Misbehaviour } from './misbehaving-contract.ts';
export { type RegistrySubject, registryContract } from './registry-contract.ts';
