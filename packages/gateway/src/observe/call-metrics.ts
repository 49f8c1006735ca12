// What /metrics says of calls, their attempts and events. The series of a target are looked up by its
// names: an agent or capability that a caller merely named is "unknown" until a route led to it.

import type { ErrorCode, EventType } from '@starloom/core';
import type { Counter, Histogram } from './metric-series.ts';
import type { MetricFamilies } from './metrics.ts';
import type { CallEntry } from './observer.ts';

export const UNKNOWN = 'unknown';
export const OK = 'OK';

type CallMeasures = Pick<
  CallEntry,
  'agent_id' | 'capability' | 'attempts' | 'code' | 'fallback' | 'first_event_ms'
>;

/** `null` is success. */
export type CountersByCode = Map<ErrorCode | null, Counter>;
type Outcome = 'ok' | 'error' | 'cancelled';

export class CallMetrics {
  protected readonly families: MetricFamilies;
  readonly #inFlight: { value: number };
  /** Agent → capability → its series; what no call was routed to is not in here. */
  readonly #targets = new Map<string, Map<string, TargetSeries>>();
  readonly #attempts = new Map<string, CountersByCode>();
  readonly #unknown: TargetSeries;
  readonly #agents = new Set<string>();
  readonly #events: Record<EventType, Counter>;

  constructor(families: MetricFamilies) {
    this.families = families;
    this.#inFlight = families.inFlight.with({});
    this.#unknown = new TargetSeries(families, UNKNOWN, UNKNOWN);
    const count = (type: EventType) => families.events.with({ type });
    this.#events = {
      status: count('status'),
      token: count('token'),
      tool_call: count('tool_call'),
      progress: count('progress'),
      artifact: count('artifact'),
      final: count('final'),
    };
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

  /** An agent whose name may stand in labels before a call reached it. */
  protected agentSeen(agentId: string): void {
    this.#agents.add(agentId);
  }

  agentGone(agentId: string): void {
    this.#agents.delete(agentId);
    this.#targets.delete(agentId);
    this.#attempts.delete(agentId);
  }

  #bindAttempts(counters: CountersByCode, agentId: string, code: ErrorCode | null): Counter {
    const labels = { agent: agentId, outcome: outcomeOf(code), code: code ?? OK };
    const counter = this.families.attempts.with(labels);
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
    const series = new TargetSeries(this.families, agentId, capability);
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
