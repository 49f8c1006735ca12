// The only file that loads the OpenTelemetry SDK: batches spans and sends them to a collector. A
// collector that is away costs spans, never time, and is spoken of once until it is back.

import { type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '@starloom/core';
import { SCOPE_NAME, SERVICE } from './telemetry-names.ts';
import type { EndedSpan, TracingTimes } from './tracing.ts';

export interface OtlpExport {
  add(span: EndedSpan): void;
  close(): Promise<void>;
}

export interface OtlpExportOptions {
  readonly url: URL;
  readonly version: string;
  readonly log: Log;
  readonly times: Pick<TracingTimes, 'collectMs' | 'exportMs'>;
}

export function openOtlpExport({ url, version, log, times }: OtlpExportOptions): OtlpExport {
  const resource = resourceFromAttributes({
    [SERVICE.name]: 'starloom-gateway',
    [SERVICE.version]: version,
  });
  const scope = { name: SCOPE_NAME, version };
  const exporter = new OTLPTraceExporter({ url: url.href, timeoutMillis: times.exportMs });
  const processor = new BatchSpanProcessor({
    exporter: sayingWhenItFails(exporter, log, url.host),
    scheduledDelayMillis: times.collectMs,
    exportTimeoutMillis: times.exportMs * 2,
  });
  return {
    add: (span) => processor.onEnd(new ExportedSpan(span, resource, scope)),
    close: () => processor.shutdown(),
  };
}

type ExportDone = Parameters<SpanExporter['export']>[1];

function sayingWhenItFails(exporter: SpanExporter, log: Log, collector: string): SpanExporter {
  let lost = 0;
  const note = (error: unknown, count: number) => {
    if (lost === 0) log.warn({ collector, reason: reasonOf(error) }, 'traces are not exported');
    lost += count;
  };
  const noteSuccess = () => {
    if (lost > 0) log.info({ collector, spans_lost: lost }, 'traces are exported again');
    lost = 0;
  };
  return {
    export(spans, done: ExportDone) {
      exporter.export(spans, (result) => {
        if (result.error) note(result.error, spans.length);
        else noteSuccess();
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return error.message !== '' ? error.message : 'code' in error ? String(error.code) : error.name;
}

type HrTime = ReadableSpan['startTime'];

class ExportedSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly duration: HrTime;
  readonly status: ReadableSpan['status'];
  readonly attributes: ReadableSpan['attributes'];
  readonly links = [];
  readonly events = [];
  readonly ended = true;
  readonly resource: Resource;
  readonly instrumentationScope: ReadableSpan['instrumentationScope'];
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly parentSpanContext?: SpanContext;
  readonly #context: SpanContext;

  constructor(span: EndedSpan, resource: Resource, scope: ReadableSpan['instrumentationScope']) {
    const { traceId, spanId, parentSpanId, startMs, endMs, failure } = span;
    const isServer = span.kind === 'server';
    this.name = span.name;
    this.kind = isServer ? SpanKind.SERVER : SpanKind.CLIENT;
    this.startTime = toHrTime(startMs);
    this.endTime = toHrTime(endMs);
    this.duration = toHrTime(endMs - startMs);
    this.status = failure === undefined ? UNSET : { code: SpanStatusCode.ERROR, message: failure };
    this.attributes = span.attributes;
    this.resource = resource;
    this.instrumentationScope = scope;
    this.#context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
    if (parentSpanId === undefined) return;
    const traceFlags = TraceFlags.SAMPLED;
    this.parentSpanContext = { traceId, spanId: parentSpanId, traceFlags, isRemote: isServer };
  }

  spanContext(): SpanContext {
    return this.#context;
  }
}

const UNSET = { code: SpanStatusCode.UNSET };

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
