export { DocumentFolder, type DocumentFolderOptions } from './document-folder.ts';
export { type FollowedEvent, followJob } from './follow-job.ts';
export { JobDesk } from './job-desk.ts';
export { type JobDocument, jobNotFound, toJobDocument } from './job-document.ts';
export { createMemoryJobEngine, MemoryJobTables } from './memory.ts';
export { isCron } from './next-cron.ts';
export { type JobsPlace, type OpenJobsOptions, openJobs } from './open-jobs.ts';
export { openPostgresJobs, type PostgresJobsOptions } from './postgres.ts';
export { JobRunner, type JobRunnerOptions } from './runner/job-runner.ts';
export type {
  CancelUpstream,
  JobRunContext,
  JobRunResult,
  RunJob,
} from './runner/run-job.ts';
export {
  type PostFailure,
  type SignedPost,
  SignedPosts,
  WebhookSender,
  type WebhookSenderOptions,
} from './runner/webhook-sender.ts';
export { openSqliteJobs, type SqliteJobsOptions } from './sqlite.ts';
export { createJob, INPUT_MS, MAX_PRIORITY } from './transitions.ts';
export { waitForJob } from './wait-for-job.ts';
