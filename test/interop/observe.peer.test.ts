// The collector of OpenTelemetry with the configuration of deploy/observe, addresses aside: what leaves it
// is what a gateway sent.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Collector,
  describeWithPeer,
  freePort,
  prepareGo,
  temporaryFolder,
} from '@starloom/testkit';
import { spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { startA2aAgent } from '../a2a/agent.ts';
import { openGateway } from '../e2e/gateway.ts';

const POLL = { timeout: 60_000, interval: 100 };
const CONFIG = fileURLToPath(new URL('../../deploy/observe/collector.yaml', import.meta.url));
const prepare = () => prepareGo(fileURLToPath(new URL('servers/otel-collector/', import.meta.url)));

/** The configuration on free ports, with what stands behind it in place of Tempo and Loki. */
async function configFor(behind: string, ports: { otlp: number; prometheus: number }) {
  const config = parse(await readFile(CONFIG, 'utf8'));
  config.receivers.otlp.protocols.http.endpoint = `127.0.0.1:${ports.otlp}`;
  config.exporters.prometheus.endpoint = `127.0.0.1:${ports.prometheus}`;
  for (const name of ['otlphttp/tempo', 'otlphttp/loki']) {
    config.exporters[name] = { endpoint: behind, encoding: 'json', compression: 'none' };
  }
  config.service.telemetry = { metrics: { level: 'none' } };
  return stringify(config);
}

const namesIn = (text: string) =>
  [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);

describeWithPeer('the collector of OpenTelemetry', prepare, (command) => {
  const stack = new AsyncDisposableStack();
  let behind: Collector;
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  let prometheus: string;

  beforeAll(async () => {
    behind = stack.use(await Collector.open());
    const folder = stack.use(await temporaryFolder());
    const ports = { otlp: await freePort(), prometheus: await freePort() };
    prometheus = `http://127.0.0.1:${ports.prometheus}/metrics`;
    const file = join(folder.path, 'collector.yaml');
    await writeFile(file, await configFor(behind.url, ports));
    stack.use(await spawnProcess({ command, args: ['--config', file] }));
    const otlp = `http://127.0.0.1:${ports.otlp}`;
    const answers = () =>
      fetch(otlp).then(
        ({ status }) => status,
        () => 0,
      );
    await vi.waitUntil(async () => (await answers()) === 404, POLL);
    const agent = stack.use(await startA2aAgent('speaks-mcp'));
    gateway = stack.use(await openGateway([agent.manifest], [], undefined, otlp));
  });

  afterAll(() => stack.disposeAsync());

  it('[G32][G33] passes on the spans of a call and its line, joined by the trace', async () => {
    const [capability] = gateway.registry.list()[0]?.manifest.capabilities ?? [];
    const { trace } = await gateway.call({ capability: capability?.name, task: 'hello' });
    const traceId = trace.trace_id.replaceAll('-', '');
    const spans = () => behind.spans.filter((span) => span.traceId === traceId);
    await expect
      .poll(() => spans().map(({ name }) => name), POLL)
      .toEqual(expect.arrayContaining(['tools/call fabric.call', 'invoke_agent speaks-mcp']));
    const lines = () => behind.lines.filter((line) => line.traceId === traceId);
    await expect.poll(() => lines().map(({ body }) => body.stringValue), POLL).toContain('call');
  });

  it('[G33] shows Prometheus the metrics of a gateway, with the names and types they have there', async () => {
    const own = await fetch(`${gateway.url}/metrics`).then((answer) => answer.text());
    const shown = async () => namesIn(await fetch(prometheus).then((answer) => answer.text()));
    // A family without a series has nothing to send.
    const expected = namesIn(own).filter((line) => {
      const [name = ''] = line.split(' ');
      return new RegExp(`^${name}(_bucket)?[ {]`, 'm').test(own);
    });
    await expect.poll(shown, POLL).toEqual(expect.arrayContaining(expected));
  });
});
