export { openSqliteJobs, type SqliteJobsOptions } from './sqlite.ts';
