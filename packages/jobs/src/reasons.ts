import { reasonTable } from '@starloom/core';

const CHECK_DISK = 'Check the disk of the state folder, then start the gateway again';
const WRITABLE =
  'Let the gateway write to the state folder, check its disk, then start the gateway again';

export const failure = reasonTable({
  job_not_found: {
    code: 'JOB_NOT_FOUND',
    message: 'There is no such job',
    fix: 'list your jobs with fabric.job.list',
  },
  jobs_quota: {
    code: 'RATE_LIMITED',
    message: 'The caller has {limit} jobs that are not over',
    fix: 'Wait for jobs to end, cancel some, or raise `jobs.per_principal`',
  },
  job_bytes_quota: {
    code: 'RATE_LIMITED',
    message: 'The jobs of the caller may take {limit} bytes',
    fix: 'Cancel jobs, wait until finished ones are deleted, or raise `jobs.bytes_per_principal`',
  },
  idempotency_key_reused: {
    code: 'BAD_INPUT',
    message: 'The idempotency key belongs to a call with other arguments',
    fix: 'Use a new key for a new call',
  },
  bad_cursor: {
    code: 'BAD_INPUT',
    message: 'The job has no event number {after}',
    fix: 'Pass a cursor that a stream of this job gave',
  },
  'bad_cursor/page': {
    code: 'BAD_INPUT',
    message: 'The cursor is not one that a page of jobs gave',
    fix: 'Pass `next_cursor` of the page before',
  },
  bad_priority: {
    code: 'BAD_INPUT',
    message: 'priority must be a whole number up to ±{limit}',
  },
  bad_schedule: {
    code: 'BAD_INPUT',
    message: '"{cron}" in {timezone} is not a schedule',
    fix: 'Write five fields: minute hour day month weekday',
  },
  no_open_question: {
    code: 'BAD_INPUT',
    message: 'The job has no open question with this id',
    fix: 'see the open questions with fabric.job.status, and answer each of them once',
  },
  job_finished: {
    code: 'BAD_INPUT',
    message: 'The job has {state} already',
    fix: 'Read its result',
  },
  job_not_finished: {
    code: 'BAD_INPUT',
    message: 'The job is not over yet',
    fix: 'Cancel it first',
  },
  call_removed: {
    code: 'BAD_INPUT',
    message: 'The call of a cancelled job is not kept',
    fix: 'Make the call again',
  },
  webhook: {
    code: 'BAD_INPUT',
    message: 'The webhook may not be called: {why}',
    fix: 'use a public address, or let the operator name the host in jobs.webhook_hosts',
  },
  interrupted: {
    code: 'UPSTREAM_ERROR',
    message: 'The gateway ended during the call, which may not be repeated automatically',
    fix: 'check whether the call had its effect; if not, start it again with fabric.job.retry',
  },
  'interrupted/asking': {
    code: 'AGENT_OFFLINE',
    message: 'The gateway ended while the agent waited for an answer',
    fix: 'check whether the call had its effect; if not, start it again with fabric.job.retry',
  },
  deadline: {
    code: 'TIMEOUT',
    message: 'The job did not finish before its deadline',
    fix: 'Raise `deadline_ms`, or ask for less',
  },
  input_expired: {
    code: 'TIMEOUT',
    message: 'The question of the agent was not answered in time',
    fix: 'Start the job again and answer its questions',
  },
  cancelled: { code: 'CANCELLED', message: 'The job was cancelled' },
  'cancelled/unbegun': {
    code: 'CANCELLED',
    message: 'The job was cancelled before an agent worked on it',
  },
  claim_lost: { code: 'AGENT_OFFLINE', message: 'Another worker has the job' },
  too_large: {
    code: 'UPSTREAM_ERROR',
    message: 'A document of {bytes} bytes is too large for a job',
    fix: 'Pass a link instead',
  },
  document_missing: {
    code: 'OVERLOADED',
    message: 'A document of the job cannot be read',
    fix: 'Set `jobs.documents` to a folder that all gateways share',
  },
  'engine_unavailable/document': {
    code: 'OVERLOADED',
    message: 'A document of the job cannot be written',
    fix: WRITABLE,
  },
  engine_busy: {
    code: 'OVERLOADED',
    message: 'The disk does not keep up with new jobs',
    fix: 'Try again',
  },
  engine_unavailable: {
    code: 'OVERLOADED',
    message: 'The job database failed',
    fix: CHECK_DISK,
  },
  'engine_unavailable/closed': {
    code: 'OVERLOADED',
    message: 'The job database is closed',
    fix: 'Start the gateway again',
  },
  in_use: {
    code: 'OVERLOADED',
    message: 'Another process uses the job database',
    fix: 'Stop the other gateway, or give this one a state folder of its own',
  },
  read_only: {
    code: 'OVERLOADED',
    message: 'The job database cannot be written',
    fix: WRITABLE,
  },
  io_error: {
    code: 'OVERLOADED',
    message: 'The job database cannot be written',
    fix: WRITABLE,
  },
  unreachable: {
    code: 'OVERLOADED',
    message: 'The job database cannot be opened',
    fix: WRITABLE,
  },
  corrupt: {
    code: 'OVERLOADED',
    message: 'The job database is damaged',
    fix: CHECK_DISK,
  },
  foreign: {
    code: 'OVERLOADED',
    message: 'The file is not a database of jobs',
    fix: 'Move the file away, or set `jobs.path`',
  },
  newer_store: {
    code: 'OVERLOADED',
    message: 'The job database was written by a newer version',
    fix: 'Use the newer version of starloom',
  },
  older_store: {
    code: 'OVERLOADED',
    message: 'The job database was written by an earlier version',
    fix: 'Set `jobs.url` to another database, or drop its schemas starloom_jobs and starloom_queue',
  },
});
