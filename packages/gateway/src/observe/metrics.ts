// What /metrics says. The values of labels come from a bounded set: an agent or capability that a
// caller merely named is "unknown" until a route led to it, and an agent that is gone takes its
// series along.

import type { ErrorCode, EventType, JobCounts } from '@starloom/core';
import type { CallEntry } from './active-call.ts';
import { type Counter, type Histogram, MetricRegistry } from './metric-registry.ts';
import { observeProcess } from './process-metrics.ts';
import { MCP_METHODS } from './telemetry-names.ts';

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const UNKNOWN = 'unknown';
const OK = 'OK';

export type BreakerState = 'closed' | 'open' | 'half-open';
const BREAKER_VALUES = { closed: 0, 'half-open': 1, open: 2 } as const;

type CallMeasures = Pick<
  CallEntry,
  'agent_id' | 'capability' | 'attempts' | 'code' | 'fallback' | 'first_event_ms'
>;

interface RequestMeasures {
  readonly face: string;
  readonly method: string;
  readonly code: ErrorCode | null;
  readonly ms: number;
}

/** `null` is success. */
type CountersByCode = Map<ErrorCode | null, Counter>;
type RequestSeries = { readonly duration: Histogram; readonly counters: CountersByCode };
type Outcome = 'ok' | 'error' | 'cancelled';

export class Metrics {
  readonly #registry = new MetricRegistry();
  readonly #families = createMetricFamilies(this.#registry);
  readonly #stopProcess = observeProcess(this.#registry);
  readonly #inFlight = this.#families.inFlight.with({});
  /** Agent → capability → its series; what no call was routed to is not in here. */
  readonly #targets = new Map<string, Map<string, TargetSeries>>();
  readonly #attempts = new Map<string, CountersByCode>();
  readonly #unknown = new TargetSeries(this.#families, UNKNOWN, UNKNOWN);
  readonly #agents = new Set<string>();
  /** By face and method. */
  readonly #requests = new Map<string, RequestSeries>();
  readonly #events: Record<EventType, Counter>;

  constructor(version: string) {
    const { events, buildInfo } = this.#families;
    const count = (type: EventType) => events.with({ type });
    this.#events = {
      status: count('status'),
      token: count('token'),
      tool_call: count('tool_call'),
      progress: count('progress'),
      artifact: count('artifact'),
      final: count('final'),
    };
    buildInfo.with({ version }).set(1);
  }

  callStarted(): void {
    this.#inFlight.value += 1;
  }

  event(type: EventType): void {
    this.#events[type].value += 1;
  }

  callEnded(call: CallMeasures, ms: number): void {
    this.#inFlight.value -= 1;
    this.#target(call).count(call, ms);
  }

  attemptEnded(agentId: string, code: ErrorCode | null): void {
    const counters = this.#attempts.get(agentId) ?? new Map<ErrorCode | null, Counter>();
    const counter = counters.get(code) ?? this.#bindAttempts(counters, agentId, code);
    counter.value += 1;
  }

  requestEnded({ face, method: asked, code, ms }: RequestMeasures): void {
    // A caller may write any method, and what fails may never have been one.
    const isReal = face === 'mcp' ? MCP_METHODS.has(asked) : code === null;
    const method = isReal || this.#requests.has(`${face} ${asked}`) ? asked : UNKNOWN;
    const series = this.#requests.get(`${face} ${method}`) ?? this.#bindRequests(face, method);
    const labels = { face, method, code: code ?? OK };
    const counter = series.counters.get(code) ?? this.#families.requests.with(labels);
    series.counters.set(code, counter);
    counter.value += 1;
    series.duration.observe(ms / 1000);
  }

  certificates(days: Iterable<[name: string, days: number]>): void {
    const { certificateDays } = this.#families;
    for (const [certificate, left] of days) certificateDays.with({ certificate }).set(left);
  }

  authFailed(mode: string, reason: string): void {
    this.#families.authFailures.with({ mode, reason }).add();
  }

  recursionBlocked(reason: string): void {
    this.#families.recursionBlocked.with({ reason }).add();
  }

  streamDropped(reason: string): void {
    this.#families.streamDropped.with({ reason }).add();
  }

  limited(limit: string): void {
    this.#families.limited.with({ limit }).add();
  }

  configReloaded(ok: boolean): void {
    this.#families.configReload.with({ result: ok ? 'ok' : 'failed' }).add();
  }

  breakerChanged(agentId: string, state: BreakerState): void {
    this.#agents.add(agentId);
    this.#families.breakerState.with({ agent: agentId }).set(BREAKER_VALUES[state]);
  }

  agentHealth(agentId: string, up: boolean): void {
    this.#agents.add(agentId);
    this.#families.agentUp.with({ agent: agentId }).set(up ? 1 : 0);
  }

  jobCounts({ states, oldest_queued_at }: JobCounts, now: number): void {
    for (const [state, count] of Object.entries(states)) {
      this.#families.jobs.with({ state }).set(count);
    }
    const waitedMs = oldest_queued_at === undefined ? 0 : now - oldest_queued_at;
    this.#families.oldestJob.with({}).set(Math.max(0, waitedMs) / 1000);
  }

  jobAttempt(mode: string): void {
    this.#families.jobAttempts.with({ mode }).add();
  }

  agentGone(agentId: string): void {
    this.#agents.delete(agentId);
    this.#targets.delete(agentId);
    this.#attempts.delete(agentId);
    const { calls, duration, firstEvent, attempts, agentUp, breakerState } = this.#families;
    for (const family of [calls, duration, firstEvent, attempts, agentUp, breakerState]) {
      family.forget('agent', agentId);
    }
    this.#families.certificateDays.forget('certificate', `agent:${agentId}`);
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
    const duration = this.#families.requestDuration.with({ face, method });
    const series = { duration, counters: new Map() };
    this.#requests.set(`${face} ${method}`, series);
    return series;
  }

  #bindAttempts(counters: CountersByCode, agentId: string, code: ErrorCode | null): Counter {
    const labels = { agent: agentId, outcome: outcomeOf(code), code: code ?? OK };
    const counter = this.#families.attempts.with(labels);
    this.#attempts.set(agentId, counters.set(code, counter));
    return counter;
  }

  #target({ agent_id: agentId, capability, attempts }: CallMeasures): TargetSeries {
    if (agentId === null) return this.#unknown;
    const name = capability ?? UNKNOWN;
    const found = this.#targets.get(agentId)?.get(name);
    if (found) return found;
    if (attempts > 0) return this.#addTarget(agentId, name);
    if (!this.#agents.has(agentId)) return this.#unknown;
    return this.#targets.get(agentId)?.get(UNKNOWN) ?? this.#addTarget(agentId, UNKNOWN);
  }

  #addTarget(agentId: string, capability: string): TargetSeries {
    const series = new TargetSeries(this.#families, agentId, capability);
    const capabilities = this.#targets.get(agentId) ?? new Map<string, TargetSeries>();
    this.#targets.set(agentId, capabilities.set(capability, series));
    return series;
  }
}

/** The series of one capability of one agent, each bound when it is first needed. */
class TargetSeries {
  readonly #families: MetricFamilies;
  readonly #labels: { readonly agent: string; readonly capability: string };
  readonly #durations = new Map<Outcome, Histogram>();
  readonly #calls: CountersByCode = new Map();
  readonly #fallbackCalls: CountersByCode = new Map();
  #firstEvent: Histogram | undefined;

  constructor(families: MetricFamilies, agent: string, capability: string) {
    this.#families = families;
    this.#labels = { agent, capability };
  }

  count({ code, fallback, first_event_ms: firstEventMs }: CallMeasures, ms: number): void {
    const counters = fallback ? this.#fallbackCalls : this.#calls;
    const counter = counters.get(code) ?? this.#bindCalls(counters, code, fallback);
    counter.value += 1;
    const outcome = outcomeOf(code);
    const duration = this.#durations.get(outcome) ?? this.#bindDuration(outcome);
    duration.observe(ms / 1000);
    if (firstEventMs === null) return;
    this.#firstEvent ??= this.#families.firstEvent.with(this.#labels);
    this.#firstEvent.observe(firstEventMs / 1000);
  }

  #bindCalls(counters: CountersByCode, code: ErrorCode | null, fallback: boolean): Counter {
    const outcome = outcomeOf(code);
    const labels = { ...this.#labels, outcome, code: code ?? OK, fallback: String(fallback) };
    const counter = this.#families.calls.with(labels);
    counters.set(code, counter);
    return counter;
  }

  #bindDuration(outcome: Outcome): Histogram {
    const histogram = this.#families.duration.with({ ...this.#labels, outcome });
    this.#durations.set(outcome, histogram);
    return histogram;
  }
}

function outcomeOf(code: ErrorCode | null): Outcome {
  if (code === null) return 'ok';
  return code === 'CANCELLED' ? 'cancelled' : 'error';
}

/** From a millisecond to ten minutes. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600,
];

type MetricFamilies = ReturnType<typeof createMetricFamilies>;

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
