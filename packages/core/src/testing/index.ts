export { createMemoryJobEngine } from '../jobs/memory-job-engine.ts';
export { MemoryRegistry } from '../memory-registry.ts';
export {
  type AdapterContractOptions,
  type AdapterSubject,
  adapterContract,
} from './adapter-contract.ts';
export { ContractAgent, type ContractRequest } from './contract-agent.ts';
export { exampleEnvelope, exampleManifest } from './examples.ts';
export { createJobDriver, exampleJob, type JobDriver } from './job-engine/job-driver.ts';
export { type JobEngineSubject, jobEngineContract } from './job-engine-contract.ts';
export { ManualClock } from './manual-clock.ts';
export { MemoryAdapter, type MemoryAgent } from './memory-adapter.ts';
export type { Misbehaviour } from './misbehaving-contract.ts';
export { type RegistrySubject, registryContract } from './registry-contract.ts';
