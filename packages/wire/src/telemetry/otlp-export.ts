// The only file that loads the OpenTelemetry SDK: collects spans, log lines and metrics and sends them to a
// collector. A collector that does not answer costs what was to be sent, never time, and is reported
// once until it answers again.

import { hostname } from 'node:os';
import {
  type HrTime,
  SeverityNumber,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  ValueType,
} from '@opentelemetry/api';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type LogFields, parseTraceId, toW3cSpanId, toW3cTraceId } from '@starloom/core';
import { Batches, type Exporter } from './batches.ts';
import type {
  EndedSpan,
  Endpoints,
  HistogramData,
  MetricFamilyData,
  TelemetryOptions,
  TelemetryTimes,
} from './telemetry.ts';

export interface OtlpExport {
  addSpan(span: EndedSpan): void;
  addLine(line: LogFields): void;
  close(): Promise<void>;
}

interface OtlpExportOptions extends Omit<TelemetryOptions, 'otlp' | 'times'> {
  readonly endpoints: Endpoints;
  readonly times: TelemetryTimes;
}

type Scope = ReadableSpan['instrumentationScope'];

export function openOtlpExport(options: OtlpExportOptions): OtlpExport {
  const { endpoints, service, version, log, times, metrics: readMetrics } = options;
  const resource = resourceFromAttributes({
    'service.name': service,
    'service.version': version,
    'service.namespace': 'starloom',
    'service.instance.id': `${hostname()}:${process.pid}`,
  });
  const scope = { name: 'starloom', version };
  const configOf = (url: URL) => ({ url: url.href, timeoutMillis: times.exportMs });
  const batches = <T>(what: string, url: URL | undefined, exporter: Exporter<T[]> | undefined) =>
    url && exporter && new Batches<T>(exporter, { what, collector: url.host, log, ...times });
  const { traces, logs, metrics } = endpoints;
  const spans = batches('traces', traces, new OTLPTraceExporter(configOf(traces)));
  const lines = batches('logs', logs, logs && new OTLPLogExporter(configOf(logs)));
  const points =
    metrics && readMetrics && openMetricExport(metrics, readMetrics, { resource, scope, options });
  return {
    addSpan: (span) => spans?.add(toReadableSpan(span, resource, scope)),
    addLine: (line) => lines?.add(toLogRecord(line, resource, scope)),
    async close() {
      await points?.close();
      await Promise.all([spans?.close(), lines?.close()]);
    },
  };
}

function openMetricExport(
  url: URL,
  read: () => Promise<readonly MetricFamilyData[]>,
  about: {
    readonly resource: Resource;
    readonly scope: Scope;
    readonly options: OtlpExportOptions;
  },
) {
  const { resource, scope, options } = about;
  const { times, log } = options;
  const startTime = toHrTime(performance.timeOrigin);
  const sent = new OTLPMetricExporter({ url: url.href, timeoutMillis: times.exportMs });
  // A batch holds one reading: cumulative values need no other.
  const exporter: Exporter<ResourceMetrics[]> = {
    export: ([reading], done) => (reading ? sent.export(reading, done) : done({ code: 0 })),
    shutdown: () => sent.shutdown(),
  };
  const note = { what: 'metrics', collector: url.host, log, collectMs: 0, batchSize: 1 };
  const batches = new Batches<ResourceMetrics>(exporter, note);
  const send = async () => {
    const families = await read();
    const span = { startTime, endTime: toHrTime(Date.now()) };
    const metrics = families.map((family) => toMetricData(family, span));
    batches.add({ resource, scopeMetrics: [{ scope, metrics }] });
  };
  const failed = (error: unknown) => log.warn({ error: String(error) }, 'metrics were not read');
  const timer = setInterval(() => void send().catch(failed), times.metricsMs).unref();
  return {
    async close() {
      clearInterval(timer);
      await send().catch(failed);
      await batches.close();
    },
  };
}

function toReadableSpan(span: EndedSpan, resource: Resource, scope: Scope): ReadableSpan {
  const { name, kind, traceId, spanId, parentSpanId, startMs, endMs, failure } = span;
  const context = toContext(traceId, spanId);
  const isRemote = kind === 'server' || kind === 'consumer';
  return {
    name,
    kind: KINDS[kind],
    startTime: toHrTime(startMs),
    endTime: toHrTime(endMs),
    duration: toHrTime(endMs - startMs),
    status: failure === undefined ? UNSET : { code: SpanStatusCode.ERROR, message: failure },
    attributes: span.attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    spanContext: () => context,
    ...(parentSpanId !== undefined && {
      parentSpanContext: { ...toContext(traceId, parentSpanId), isRemote },
    }),
  };
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
  consumer: SpanKind.CONSUMER,
} as const;
const UNSET = { code: SpanStatusCode.UNSET };

function toContext(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

const SEVERITIES: Readonly<Record<string, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

/** Every field of a line is an attribute, except those that OTLP has a place for. */
function toLogRecord(line: LogFields, resource: Resource, scope: Scope): ReadableLogRecord {
  const { level, time, message, trace_id, span_id, ...fields } = line;
  const hrTime = toHrTime(typeof time === 'string' ? Date.parse(time) : Date.now());
  const traceId = typeof trace_id === 'string' ? parseTraceId(trace_id) : undefined;
  const severityText = String(level);
  const known = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return {
    hrTime,
    hrTimeObserved: hrTime,
    severityText,
    severityNumber: SEVERITIES[severityText] ?? SeverityNumber.UNSPECIFIED,
    body: String(message),
    attributes: Object.fromEntries(known) as ReadableLogRecord['attributes'],
    droppedAttributesCount: 0,
    resource,
    instrumentationScope: scope,
    ...(traceId !== undefined && {
      spanContext: toContext(toW3cTraceId(traceId), toW3cSpanId(String(span_id ?? ''))),
    }),
  };
}

type Times = Readonly<Record<'startTime' | 'endTime', HrTime>>;

/** Units stand in the names, as Prometheus has them: so the names stay when a collector passes them on. */
function toMetricData({ name, help, type, points }: MetricFamilyData, times: Times): MetricData {
  const about = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const dataPoints = points.map(({ labels, value }) => ({ ...times, attributes: labels, value }));
  const numbers = dataPoints as { [K in keyof (typeof dataPoints)[0]]: never }[];
  if (type === 'gauge')
    return { ...about, dataPointType: DataPointType.GAUGE, dataPoints: numbers };
  if (type === 'counter') {
    return { ...about, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers };
  }
  const histograms = dataPoints.map((point) => ({
    ...point,
    value: toHistogram(point.value as HistogramData),
  }));
  return { ...about, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms };
}

function toHistogram({ bounds, counts, sum }: HistogramData) {
  const count = counts.reduce((total, one) => total + one, 0);
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
