// Everything the gateway says about itself, behind one object: the log, the metrics and the traces. It
// costs a call a few microseconds, never throws, and never waits.

import {
  type BlockReason,
  type Clock,
  type ErrorCode,
  type EventType,
  type FabricError,
  type Health,
  type JobCounts,
  type Log,
  type LogFields,
  systemClock,
  type Trace,
} from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { openTelemetry, settlesWithin, type Telemetry, type TelemetryTimes } from '@starloom/wire';
import type { BreakerState } from '../pipeline/agent-gate.ts';
import type { Caller, CallRequest } from '../pipeline/call-request.ts';
import type { Dispatched } from '../pipeline/dispatch.ts';
import type { PreparedCall } from '../pipeline/prepare.ts';
import { callObserver } from './active-call.ts';
import { type ActiveRequest, PrincipalHashes, requestObserver } from './active-request.ts';
import { CertificateExpiry } from './certificate-expiry.ts';
import { type JournalOptions, JournalRecorder } from './journal-recorder.ts';
import { RootLog } from './log.ts';
import type { LogDestination, LogLevel } from './log-lines.ts';
import { Metrics } from './metrics.ts';
import { RefusalLines } from './request-record.ts';

export type { ActiveRequest } from './active-request.ts';
export { METRICS_CONTENT_TYPE } from './metrics.ts';

export interface Observer {
  readonly log: Log;
  callStarted(call: CallStart): ActiveCall;
  /** Every request of every face; what becomes a call is written down by `callStarted`. */
  requestStarted(request: RequestStart): ActiveRequest;
  authFailed(mode: string, reason: string): void;
  recursionBlocked(reason: BlockReason): void;
  /** Also a line in the log. */
  breakerChanged(agentId: string, state: BreakerState): void;
  /** Also a line in the log when it changed. */
  agentHealth(agentId: string, health: Health): void;
  agentGone(agentId: string): void;
  streamDropped(reason: string): void;
  /** A call was refused by a limit; the key of the configuration. */
  limited(limit: string): void;
  configReloaded(ok: boolean): void;
  /** Until when a certificate is valid; also a line in the log when that is soon. */
  certificateSeen(name: string, expiresAt: number): void;
  /** Where the counts of jobs are read when metrics are read. */
  watchJobs(read: () => Promise<JobCounts>): void;
  jobAttempt(mode: string): void;
  /** From now on calls are written down there. */
  keepJournal(options: JournalOptions): void;
  /** From now on, for every logger there is. */
  setLogLevel(level: LogLevel): void;
  /** In the Prometheus text format. */
  metricsText(): Promise<string>;
  /**
   * Sends and writes what is left; takes a few seconds at most, even if a collector does not
   * answer.
   */
  shutdown(): Promise<void>;
}

export interface ObserverOptions {
  readonly level: LogLevel;
  /** The address of a collector, if spans, lines and metrics are to be sent. */
  readonly otlp: string | null;
  readonly version: string;
  readonly clock?: Clock | undefined;
  /** Stderr unless given. */
  readonly destination?: LogDestination | undefined;
  readonly times?: Partial<TelemetryTimes> | undefined;
}

/** What a request is for; `http` until that is known. */
export type Face = 'mcp' | 'rpc' | 'a2a' | 'console' | 'http';

export interface RequestStart {
  readonly face: Face;
  readonly transport: Caller['transport'] | 'grpc';
  /** Lower-case names. */
  readonly headers: Caller['headers'];
  readonly principal?: Principal | undefined;
  /** Of HTTP or gRPC; a JSON-RPC message brings its own. */
  readonly method?: string | undefined;
  /** A JSON-RPC message or a batch of them. */
  readonly message?: unknown;
}

export interface CallStart {
  readonly trace: Trace;
  readonly transport: string;
  /** Of MCP, such as `tools/call`. */
  readonly method: string;
  /** Of the tool, prompt or resource. */
  readonly name: string;
  readonly principal: string | null;
  readonly stream: boolean;
  readonly protocolVersion?: string | undefined;
  readonly requestId?: string | number | undefined;
  /** The caller's span, unless the trace names it already. */
  readonly parentSpanId?: string | undefined;
  readonly depth?: number | undefined;
  /** The job that the call runs for. */
  readonly job?: JobFacts | undefined;
  /** What the journal takes the rest from. */
  readonly asked?:
    | { readonly request: CallRequest; readonly caller: Caller; readonly chain: readonly string[] }
    | undefined;
}

export interface JobFacts {
  readonly id: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Whether the call begins, begins again or goes on. */
  readonly mode: string;
}

interface Failure {
  readonly ok: false;
  readonly error: FabricError;
}

export type CallOutcome =
  | {
      readonly ok: true;
      readonly agentId?: string | undefined;
      readonly fallback: boolean;
      readonly result?: Dispatched['result'] | undefined;
    }
  | (Failure & {
      /** The answer is a JSON-RPC error; unset: only when the method is no tool call. */
      readonly protocolError?: boolean | undefined;
    });

export interface AttemptStart {
  readonly agentId: string;
  readonly nodeId: string;
  readonly protocol: string;
  readonly index: number;
  /** Another agent than the one that the call was for. */
  readonly isFallback?: boolean | undefined;
  readonly breaker?: BreakerState | undefined;
}

export type AttemptOutcome = { readonly ok: true } | Failure;

export interface ActiveCall {
  /** Every line has the trace and span of this call. */
  readonly log: Log;
  /** A line of the log, without the cost of a logger where such lines are not written. */
  debug(fields: LogFields, message: string): void;
  /** What the caller asked for, found or not. */
  target(agentId: string | undefined, capability: string): void;
  /** Its candidates are chosen: notes who may serve it, and why. */
  routed(prepared: PreparedCall): void;
  attempt(info: AttemptStart): ActiveAttempt;
  /** A candidate that was passed over without an attempt. */
  skipped(info: AttemptStart, error: FabricError): void;
  /** Counts; the first that is no `status` gives the time to the first event. */
  event(type: EventType): void;
  /** Writes the line of the call. Only the first end counts. */
  end(outcome: CallOutcome): void;
}

export interface ActiveAttempt {
  /** A span below the call's: the trace of the envelope that the agent gets. */
  readonly trace: Trace;
  /** Every line has the trace and span of this attempt. */
  readonly log: Log;
  /** Only the first end counts. */
  end(outcome: AttemptOutcome): void;
}

/** What is known of a call: its line in the log, in this order. */
export interface CallEntry {
  readonly trace_id: string;
  readonly span_id: string;
  /** A hash, never the name. */
  readonly principal: string | null;
  readonly tool: string;
  /** Of the job that it runs for. */
  readonly job_id: string | undefined;
  agent_id: string | null;
  capability: string | null;
  /** `null` while the call runs; so are `ms` and, unless it failed, `code`. */
  ok: boolean | null;
  code: ErrorCode | null;
  ms: number | null;
  attempts: number;
  fallback: boolean;
  readonly stream: boolean;
  events: number;
  first_event_ms: number | null;
}

/** Where observations go. */
export interface ObserverParts {
  readonly clock: Clock;
  readonly rootLog: RootLog;
  readonly metrics: Metrics;
  readonly tracing: Telemetry;
  readonly hashes: PrincipalHashes;
  readonly refusals: RefusalLines;
  /** Where calls are written down, once there is a journal. */
  recorder: JournalRecorder | undefined;
}

const FLUSH_MS = 1000;
const COUNT_MS = 500;

export function createObserver(options: ObserverOptions): Observer {
  const { clock = systemClock, level, destination, version, otlp, times } = options;
  const rootLog = new RootLog({ level, destination, clock });
  const { log } = rootLog;
  const metrics = new Metrics(version);
  const service = 'starloom-gateway';
  const collect = async () => {
    await refresh();
    return metrics.collect();
  };
  const tracing = openTelemetry({ otlp, service, version, log, times, metrics: collect });
  if (tracing.enabled) rootLog.onLine((line) => tracing.line(JSON.parse(line)));
  const parts: ObserverParts = {
    clock,
    rootLog,
    metrics,
    tracing,
    hashes: new PrincipalHashes(),
    refusals: new RefusalLines({ clock, rootLog }),
    recorder: undefined,
  };
  const health = new Map<string, boolean>();
  const certificates = new CertificateExpiry(clock, log);
  let readJobs: (() => Promise<JobCounts>) | undefined;
  /** What is only counted when metrics are read. */
  const refresh = async () => {
    const counted = readJobs?.().then(
      (counts) => metrics.jobCounts(counts, clock.now()),
      (err: unknown) => log.warn({ err }, 'jobs could not be counted'),
    );
    metrics.certificates(certificates.days());
    if (counted) await settlesWithin(counted, COUNT_MS);
  };
  return {
    log,
    callStarted: callObserver(parts),
    requestStarted: requestObserver(parts),
    authFailed: (mode, reason) => metrics.authFailed(mode, reason),
    recursionBlocked: (reason) => metrics.recursionBlocked(reason),
    breakerChanged(agentId, state) {
      metrics.breakerChanged(agentId, state);
      const write = state === 'open' ? 'warn' : 'info';
      log[write]({ agent_id: agentId, state }, 'breaker changed');
    },
    agentHealth(agentId, { status, message, upstream, fix }) {
      const up = status !== 'offline';
      metrics.agentHealth(agentId, up);
      const before = health.get(agentId) ?? true;
      health.set(agentId, up);
      if (before === up) return;
      if (up) log.info({ agent_id: agentId }, 'agent is back');
      else log.warn({ agent_id: agentId, reason: message, upstream, fix }, 'agent is offline');
    },
    agentGone(agentId) {
      health.delete(agentId);
      certificates.delete(`agent:${agentId}`);
      metrics.agentGone(agentId);
    },
    streamDropped: (reason) => metrics.streamDropped(reason),
    limited: (limit) => metrics.limited(limit),
    configReloaded: (ok) => metrics.configReloaded(ok),
    certificateSeen: (name, expiresAt) => certificates.set(name, expiresAt),
    watchJobs: (read) => {
      readJobs = read;
    },
    jobAttempt: (mode) => metrics.jobAttempt(mode),
    keepJournal: (journal) => {
      parts.recorder?.close();
      parts.recorder = new JournalRecorder(journal, clock);
    },
    setLogLevel: (next) => rootLog.setLevel(next),
    async metricsText() {
      await refresh();
      return metrics.text();
    },
    async shutdown() {
      certificates.close();
      readJobs = undefined;
      parts.recorder?.close();
      await tracing.shutdown();
      metrics.stop();
      await settlesWithin(rootLog.flush(), FLUSH_MS);
    },
  };
}
