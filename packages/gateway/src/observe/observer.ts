// Everything the gateway says about itself, behind one object: the log, the metrics and the traces. It
// costs a call a few microseconds, never throws, and never waits.

import {
  type BlockReason,
  type Clock,
  type Health,
  type JobCounts,
  type Log,
  systemClock,
} from '@starloom/core';
import { openTelemetry, settlesWithin, type TelemetryTimes } from '@starloom/wire';
import { type ActiveCall, type CallStart, ObservedCall } from './active-call.ts';
import {
  ActiveRequest,
  type ObserverParts,
  PrincipalHashes,
  RefusalLines,
  type RequestStart,
} from './active-request.ts';
import { CertificateExpiry } from './certificate-expiry.ts';
import { type JournalOptions, JournalRecorder } from './journal-recorder.ts';
import { type LogDestination, type LogLevel, RootLog } from './log.ts';
import { type BreakerState, Metrics } from './metrics.ts';

export type {
  ActiveAttempt,
  ActiveCall,
  AttemptOutcome,
  AttemptStart,
  CallOutcome,
  CallStart,
} from './active-call.ts';
export type { ActiveRequest, Face } from './active-request.ts';
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
  const hashes = new PrincipalHashes();
  const refusals = new RefusalLines({ clock, rootLog });
  const parts: ObserverParts = {
    clock,
    rootLog,
    metrics,
    tracing,
    hashes,
    refusals,
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
    callStarted: (call) => new ObservedCall(call, hashes.of(call.principal), parts),
    requestStarted: (request) => new ActiveRequest(request, parts),
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
