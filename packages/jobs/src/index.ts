export { DocumentFolder, type DocumentFolderOptions } from './document-folder.ts';
export { type FollowedEvent, followJob } from './follow-job.ts';
export { JobDesk } from './job-desk.ts';
export { type JobDocument, toJobDocument } from './job-document.ts';
export { jobNotFound } from './job-errors.ts';
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
export { type PostFailure, type SignedPost, SignedPosts } from './runner/signed-posts.ts';
export { WebhookSender, type WebhookSenderOptions } from './runner/webhook-sender.ts';
export { openSqliteJobs, type SqliteJobsOptions } from './sqlite.ts';
export { createJob, INPUT_MS, MAX_PRIORITY } from './transitions.ts';
