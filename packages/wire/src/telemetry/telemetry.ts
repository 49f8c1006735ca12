// What gateways and agents send to an OpenTelemetry collector: spans, log lines and metrics. Spans carry
// the ids that callers and agents see, so they are given here when they have ended. Without a collector
// nothing is collected and no part of OpenTelemetry is loaded. Sending never blocks and never throws.

import { FabricError, type Log, type LogFields } from '@starloom/core';
import { settlesWithin } from '../settles-within.ts';
import type { OtlpExport } from './otlp-export.ts';

export type Attributes = Record<string, string | number | boolean>;

/** A span that has ended; ids as W3C writes them, times in milliseconds since 1970. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** What went wrong, for people; `undefined` when nothing did. */
  readonly failure: string | undefined;
}

/** All series of one metric; counts of a histogram are those of each bucket, not summed up. */
export interface MetricFamilyData {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly points: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number | HistogramData;
  }[];
}

export interface HistogramData {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface Telemetry {
  /** Ask before building a span or a line. */
  readonly enabled: boolean;
  record(span: EndedSpan): void;
  /** As the log has it: `level`, `time`, `message`, `trace_id`, `span_id`, and whatever else. */
  line(line: LogFields): void;
  /** Sends what is left, for as long as it was given at most. */
  shutdown(): Promise<void>;
}

export interface TelemetryTimes {
  /** How long spans and lines are collected before they are sent. */
  readonly collectMs: number;
  /** How long one batch may take, tries included. */
  readonly exportMs: number;
  readonly shutdownMs: number;
  /** How often metrics are sent. */
  readonly metricsMs: number;
}

export interface TelemetryOptions {
  /** The address of a collector; `null` sends nothing. One that ends with `/v1/traces` gets spans alone. */
  readonly otlp: string | null;
  /** What `service.name` says. */
  readonly service: string;
  readonly version: string;
  /** For what goes wrong with sending. */
  readonly log: Log;
  readonly times?: Partial<TelemetryTimes> | undefined;
  /** Read each time that metrics are sent; absent: none are. */
  readonly metrics?: (() => Promise<readonly MetricFamilyData[]>) | undefined;
}

const TIMES: TelemetryTimes = {
  collectMs: 1000,
  exportMs: 5000,
  shutdownMs: 2000,
  metricsMs: 15_000,
};
/** Spans and lines together. */
const MAX_EARLY = 4096;

export function openTelemetry(options: TelemetryOptions): Telemetry {
  const { otlp } = options;
  return otlp === null ? noTelemetry : new OtlpTelemetry(options, toEndpoints(otlp));
}

export const noTelemetry: Telemetry = {
  enabled: false,
  record: () => {},
  line: () => {},
  shutdown: async () => {},
};

/** Where each signal is sent; one without an address is not sent. */
export interface Endpoints {
  readonly traces: URL;
  readonly logs: URL | undefined;
  readonly metrics: URL | undefined;
}

class OtlpTelemetry implements Telemetry {
  readonly #options: TelemetryOptions;
  readonly #times: TelemetryTimes;
  readonly #loading: Promise<void>;
  /** What was given before the exporter was loaded. */
  #early: ((to: OtlpExport) => void)[] = [];
  #export: OtlpExport | undefined;
  #failed = false;

  constructor(options: TelemetryOptions, endpoints: Endpoints) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.#loading = this.#load(endpoints);
  }

  get enabled(): boolean {
    return !this.#failed;
  }

  record(span: EndedSpan): void {
    if (this.#export) this.#export.addSpan(span);
    else this.#keep((to) => to.addSpan(span));
  }

  line(line: LogFields): void {
    if (this.#export) this.#export.addLine(line);
    else this.#keep((to) => to.addLine(line));
  }

  async shutdown(): Promise<void> {
    const { shutdownMs } = this.#times;
    const closing = this.#loading.then(() => this.#export?.close());
    if (await settlesWithin(closing, shutdownMs)) return;
    this.#options.log.warn({ waited_ms: shutdownMs }, 'the last traces could not be exported');
  }

  #keep(give: (to: OtlpExport) => void): void {
    if (!this.#failed && this.#early.length < MAX_EARLY) this.#early.push(give);
  }

  async #load(endpoints: Endpoints): Promise<void> {
    const { log } = this.#options;
    try {
      const { openOtlpExport } = await import('./otlp-export.ts');
      const opened = openOtlpExport({ ...this.#options, endpoints, times: this.#times });
      for (const give of this.#early) give(opened);
      this.#export = opened;
    } catch (error) {
      this.#failed = true;
      log.error({ error: FabricError.from(error) }, 'traces cannot be exported');
    } finally {
      this.#early = [];
    }
  }
}

/** As OTLP has it: each signal has a path of its own below the address of the collector. */
function toEndpoints(otlp: string): Endpoints {
  const url = URL.parse(otlp);
  if (!url?.protocol.startsWith('http')) {
    throw new FabricError('BAD_INPUT', 'The address of the OTLP collector is not an http(s) URL', {
      details: { key: 'telemetry.otlp', fix: 'write one such as http://127.0.0.1:4318' },
    });
  }
  if (url.pathname.endsWith('/v1/traces'))
    return { traces: url, logs: undefined, metrics: undefined };
  const below = (path: string) => {
    const endpoint = new URL(url);
    endpoint.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
    return endpoint;
  };
  return { traces: below('v1/traces'), logs: below('v1/logs'), metrics: below('v1/metrics') };
}

/** A logger whose lines are also sent to the collector. */
export function teeLog(log: Log, telemetry: Telemetry, above: LogFields = {}): Log {
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => {
    return (fields: LogFields, message: string) => {
      log[level](fields, message);
      if (level === 'debug' || !telemetry.enabled) return;
      const time = new Date().toISOString();
      telemetry.line({ level, time, ...above, ...fields, message });
    };
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => teeLog(log.child(fields), telemetry, { ...above, ...fields }),
  };
}
