// What /metrics says. The values of labels come from a bounded set: an agent or capability that a
// caller merely named is "unknown" until a route led to it, and an agent that is gone takes its
// series along.

import type { ErrorCode, JobCounts } from '@starloom/core';
import type { BreakerState } from '../pipeline/agent-gate.ts';
import { CallMetrics, type CountersByCode, OK, UNKNOWN } from './call-metrics.ts';
import { MetricRegistry } from './metric-registry.ts';
import type { Histogram } from './metric-series.ts';
import { observeProcess } from './process-metrics.ts';
import { MCP_METHODS } from './spans.ts';

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

interface RequestMeasures {
  readonly face: string;
  readonly method: string;
  readonly code: ErrorCode | null;
  readonly ms: number;
}

type RequestSeries = { readonly duration: Histogram; readonly counters: CountersByCode };

export class Metrics extends CallMetrics {
  readonly #registry: MetricRegistry;
  readonly #stopProcess: () => void;
  /** By face and method. */
  readonly #requests = new Map<string, RequestSeries>();

  constructor(version: string) {
    const registry = new MetricRegistry();
    super(createMetricFamilies(registry));
    this.#registry = registry;
    this.#stopProcess = observeProcess(registry);
    this.families.buildInfo.with({ version }).set(1);
  }

  requestEnded({ face, method: asked, code, ms }: RequestMeasures): void {
    // A caller may write any method, and what fails may never have been one.
    const isReal = face === 'mcp' ? MCP_METHODS.has(asked) : code === null;
    const method = isReal || this.#requests.has(`${face} ${asked}`) ? asked : UNKNOWN;
    const series = this.#requests.get(`${face} ${method}`) ?? this.#bindRequests(face, method);
    const labels = { face, method, code: code ?? OK };
    const counter = series.counters.get(code) ?? this.families.requests.with(labels);
    series.counters.set(code, counter);
    counter.value += 1;
    series.duration.observe(ms / 1000);
  }

  certificates(days: Iterable<[name: string, days: number]>): void {
    const { certificateDays } = this.families;
    for (const [certificate, left] of days) certificateDays.with({ certificate }).set(left);
  }

  authFailed(mode: string, reason: string): void {
    this.families.authFailures.with({ mode, reason }).add();
  }

  recursionBlocked(reason: string): void {
    this.families.recursionBlocked.with({ reason }).add();
  }

  streamDropped(reason: string): void {
    this.families.streamDropped.with({ reason }).add();
  }

  limited(limit: string): void {
    this.families.limited.with({ limit }).add();
  }

  configReloaded(ok: boolean): void {
    this.families.configReload.with({ result: ok ? 'ok' : 'failed' }).add();
  }

  breakerChanged(agentId: string, state: BreakerState): void {
    this.agentSeen(agentId);
    this.families.breakerState.with({ agent: agentId }).set(BREAKER_VALUES[state]);
  }

  agentHealth(agentId: string, up: boolean): void {
    this.agentSeen(agentId);
    this.families.agentUp.with({ agent: agentId }).set(up ? 1 : 0);
  }

  jobCounts({ states, oldest_queued_at }: JobCounts, now: number): void {
    for (const [state, count] of Object.entries(states)) {
      this.families.jobs.with({ state }).set(count);
    }
    const waitedMs = oldest_queued_at === undefined ? 0 : now - oldest_queued_at;
    this.families.oldestJob.with({}).set(Math.max(0, waitedMs) / 1000);
  }

  jobAttempt(mode: string): void {
    this.families.jobAttempts.with({ mode }).add();
  }

  override agentGone(agentId: string): void {
    super.agentGone(agentId);
    const { calls, duration, firstEvent, attempts, agentUp, breakerState } = this.families;
    for (const family of [calls, duration, firstEvent, attempts, agentUp, breakerState]) {
      family.forget('agent', agentId);
    }
    this.families.certificateDays.forget('certificate', `agent:${agentId}`);
  }

  text(): string {
    return this.#registry.text();
  }

  collect(): ReturnType<MetricRegistry['collect']> {
    return this.#registry.collect();
  }

  stop(): void {
    this.#stopProcess();
  }

  #bindRequests(face: string, method: string): RequestSeries {
    const duration = this.families.requestDuration.with({ face, method });
    const series = { duration, counters: new Map() };
    this.#requests.set(`${face} ${method}`, series);
    return series;
  }
}

/** From a millisecond to ten minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600,
];

export type MetricFamilies = ReturnType<typeof createMetricFamilies>;

function createMetricFamilies(registry: MetricRegistry) {
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
