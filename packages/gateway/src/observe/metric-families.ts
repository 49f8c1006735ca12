import type { MetricRegistry } from './metric-registry.ts';

/** From a millisecond to ten minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600,
];

export type MetricFamilies = ReturnType<typeof createMetricFamilies>;

export function createMetricFamilies(registry: MetricRegistry) {
  return {
    buildInfo: registry.gauge('starloom_build_info', 'Always 1; says what runs', ['version']),
    calls: registry.counter('starloom_calls_total', 'Calls that ended', [
      'agent',
      'capability',
      'outcome',
      'code',
      'fallback',
    ]),
    duration: registry.histogram(
      'starloom_call_duration_seconds',
      'From a call to its end',
      SECONDS,
      ['agent', 'capability', 'outcome'],
    ),
    firstEvent: registry.histogram(
      'starloom_time_to_first_event_seconds',
      'From a call to the first thing its agent said',
      SECONDS,
      ['agent', 'capability'],
    ),
    attempts: registry.counter('starloom_attempts_total', 'Attempts at agents that ended', [
      'agent',
      'outcome',
      'code',
    ]),
    inFlight: registry.gauge('starloom_inflight_calls', 'Calls that have not ended'),
    requests: registry.counter(
      'starloom_requests_total',
      'Requests that were no call of an agent',
      ['face', 'method', 'code'],
    ),
    requestDuration: registry.histogram(
      'starloom_request_duration_seconds',
      'From such a request to its answer',
      SECONDS,
      ['face', 'method'],
    ),
    events: registry.counter('starloom_events_total', 'Events passed on', ['type']),
    agentUp: registry.gauge('starloom_agent_up', '1 when the agent answered last', ['agent']),
    breakerState: registry.gauge(
      'starloom_breaker_state',
      'Circuit breaker: 0 closed, 1 half-open, 2 open',
      ['agent'],
    ),
    authFailures: registry.counter('starloom_auth_failures_total', 'Requests refused at the door', [
      'mode',
      'reason',
    ]),
    recursionBlocked: registry.counter(
      'starloom_recursion_blocked_total',
      'Calls refused by the recursion guard',
      ['reason'],
    ),
    streamDropped: registry.counter('starloom_stream_dropped_total', 'Streams cut short', [
      'reason',
    ]),
    limited: registry.counter('starloom_limited_total', 'Refusals by a limit of rate or cost', [
      'limit',
    ]),
    jobs: registry.gauge('starloom_jobs', 'Jobs by state', ['state']),
    oldestJob: registry.gauge(
      'starloom_jobs_oldest_queued_seconds',
      'How long the oldest job has been waiting for a worker',
    ),
    jobAttempts: registry.counter('starloom_job_attempts_total', 'Jobs that began to run here', [
      'mode',
    ]),
    certificateDays: registry.gauge(
      'starloom_certificate_expiry_days',
      'Days that a certificate is still valid',
      ['certificate'],
    ),
    configReload: registry.counter('starloom_config_reload_total', 'Reloads of configuration', [
      'result',
    ]),
  };
}
