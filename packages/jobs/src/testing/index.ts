export { createJobDriver, exampleJob, type JobDriver } from './job-engine/job-driver.ts';
export { type JobEngineSubject, jobEngineContract } from './job-engine-contract.ts';
