// Spans of calls and attempts. They carry the ids that callers and agents see, so they are written
// down here and given to OpenTelemetry when they have ended. Without a collector nothing is
// written and no part of OpenTelemetry is loaded.

import { FabricError, type Log } from '@starloom/core';
import { settlesWithin } from '@starloom/wire';
import type { OtlpExport } from './otlp-export.ts';
import type { Attributes } from './telemetry-names.ts';

/** A span that has ended; ids as W3C writes them, times in milliseconds since 1970. */
export interface EndedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** What went wrong, for people; `undefined` when nothing did. */
  readonly failure: string | undefined;
}

export interface Tracing {
  /** Ask before building a span. */
  readonly enabled: boolean;
  record(span: EndedSpan): void;
  /** Sends what is left, for as long as it was given at most. */
  shutdown(): Promise<void>;
}

export interface TracingTimes {
  /** How long spans are collected before they are sent. */
  readonly collectMs: number;
  /** How long one batch may take, tries included. */
  readonly exportMs: number;
  readonly shutdownMs: number;
}

export interface TracingOptions {
  readonly otlp: string | null;
  readonly version: string;
  readonly log: Log;
  readonly times: TracingTimes;
}

const MAX_EARLY_SPANS = 2048;

export function createTracing(options: TracingOptions): Tracing {
  const { otlp } = options;
  return otlp === null ? noTracing : new OtlpTracing(options, toTracesUrl(otlp));
}

const noTracing: Tracing = {
  enabled: false,
  record: () => {},
  shutdown: async () => {},
};

class OtlpTracing implements Tracing {
  readonly #options: TracingOptions;
  readonly #loading: Promise<void>;
  /** Spans that ended before the exporter was loaded. */
  #early: EndedSpan[] = [];
  #export: OtlpExport | undefined;
  #failed = false;

  constructor(options: TracingOptions, url: URL) {
    this.#options = options;
    this.#loading = this.#load(url);
  }

  get enabled(): boolean {
    return !this.#failed;
  }

  record(span: EndedSpan): void {
    if (this.#export) this.#export.add(span);
    else if (this.#early.length < MAX_EARLY_SPANS) this.#early.push(span);
  }

  async shutdown(): Promise<void> {
    const { log, times } = this.#options;
    const closing = this.#loading.then(() => this.#export?.close());
    if (await settlesWithin(closing, times.shutdownMs)) return;
    log.warn({ waited_ms: times.shutdownMs }, 'the last traces could not be exported');
  }

  async #load(url: URL): Promise<void> {
    const { version, log, times } = this.#options;
    try {
      const { openOtlpExport } = await import('./otlp-export.ts');
      this.#export = openOtlpExport({ url, version, log, times });
      for (const span of this.#early) this.#export.add(span);
    } catch (error) {
      this.#failed = true;
      log.error({ error: FabricError.from(error) }, 'traces cannot be exported');
    } finally {
      this.#early = [];
    }
  }
}

/** The address of a collector, as OTLP has it: traces go to `v1/traces` below it. */
function toTracesUrl(otlp: string): URL {
  const url = URL.parse(otlp);
  if (!url?.protocol.startsWith('http')) {
    throw new FabricError('BAD_INPUT', 'The address of the OTLP collector is not an http(s) URL', {
      details: { key: 'telemetry.otlp', fix: 'write one such as http://127.0.0.1:4318' },
    });
  }
  if (!url.pathname.endsWith('/v1/traces')) {
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  }
  return url;
}
