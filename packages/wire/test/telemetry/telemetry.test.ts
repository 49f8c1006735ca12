import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTrace, silentLog } from '@starloom/core';
import { Collector } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { openTelemetry } from '../../src/index.ts';
import { teeLog } from '../../src/telemetry/telemetry.ts';

const PACKAGES = fileURLToPath(new URL('../../../', import.meta.url));

describe('telemetry', () => {
  it('is loaded only where a collector is configured: one file imports it, on demand', () => {
    const files = globSync('*/src/**/*.ts', { cwd: PACKAGES });
    const textOf = (file: string) => readFileSync(join(PACKAGES, file), 'utf8');
    const importing = (name: RegExp) => files.filter((file) => name.test(textOf(file)));
    expect(importing(/from '@opentelemetry\//)).toEqual(['wire/src/telemetry/otlp-export.ts']);
    expect(importing(/^import \{.*otlp-export/m)).toEqual([]);
    expect(importing(/await import\('\.\/otlp-export\.ts'\)/)).toEqual([
      'wire/src/telemetry/telemetry.ts',
    ]);
  });

  it('takes everything and sends nothing without a collector', async () => {
    const telemetry = openTelemetry({ otlp: null, service: 'x', version: '0', log: silentLog });
    expect(telemetry.enabled).toBe(false);
    telemetry.line({ level: 'info', message: 'x' });
    await telemetry.shutdown();
  });

  it('sends traces alone to an address of traces', async () => {
    await using collector = await Collector.open();
    const telemetry = openTelemetry({
      otlp: `${collector.url}/v1/traces`,
      service: 'x',
      version: '0',
      log: silentLog,
      metrics: async () => [],
    });
    telemetry.line({ level: 'info', message: 'x' });
    const ids = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentSpanId: undefined };
    const times = { startMs: 1, endMs: 2, failure: undefined };
    telemetry.record({ name: 'x', kind: 'server', ...ids, ...times, attributes: {} });
    await telemetry.shutdown();
    expect(collector.paths).toEqual(['/v1/traces']);
  });

  it('sends lines of a logger and of its children with what each knows', async () => {
    await using collector = await Collector.open();
    const about = { service: 'x', version: '0', log: silentLog };
    const telemetry = openTelemetry({ otlp: collector.url, ...about });
    const log = teeLog(silentLog, telemetry);
    const { trace_id } = createTrace();
    log.child({ trace_id, tool: 'a' }).warn({ tries: 2, nothing: undefined }, 'slow');
    log.debug({}, 'not sent');
    await telemetry.shutdown();
    expect(collector.lines).toMatchObject([
      {
        traceId: trace_id.replaceAll('-', ''),
        severityText: 'warn',
        body: { stringValue: 'slow' },
        attributes: { tool: 'a', tries: 2 },
      },
    ]);
    expect(collector.lines[0]?.attributes).not.toHaveProperty('nothing');
  });
});
