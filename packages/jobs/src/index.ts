export { openPostgresJobs, type PostgresJobsOptions } from './postgres.ts';
export { openSqliteJobs, type SqliteJobsOptions } from './sqlite.ts';
