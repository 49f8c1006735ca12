import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricRegistry } from './metric-registry.ts';

const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;

/** What the process itself costs, under the names that dashboards know. Returns how to stop. */
export function observeProcess(registry: MetricRegistry): () => void {
  const cpu = registry.counter('process_cpu_seconds_total', 'CPU time, user and system').with({});
  const memory = registry.gauge('process_resident_memory_bytes', 'Resident memory').with({});
  const heap = registry.gauge('nodejs_heap_size_used_bytes', 'Heap in use').with({});
  const started = registry.gauge('process_start_time_seconds', 'Start, since 1970').with({});
  const lag = registry.gauge(
    'nodejs_eventloop_lag_seconds',
    'How late timers ran since the last look',
    ['quantile'],
  );
  const middle = lag.with({ quantile: '0.5' });
  const tail = lag.with({ quantile: '0.99' });
  const worst = lag.with({ quantile: '1' });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  started.set(Math.floor(Date.now() / 1000 - process.uptime()));
  registry.onCollect(() => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    cpu.value = (user + system) / 1e6;
    memory.set(rss);
    heap.set(heapUsed);
    middle.set(lagSeconds(delay.percentile(50)));
    tail.set(lagSeconds(delay.percentile(99)));
    worst.set(lagSeconds(delay.max));
    delay.reset();
  });
  return () => {
    delay.disable();
  };
}

/** The monitor reports the time between its own timers, their interval included. */
function lagSeconds(nanoseconds: number): number {
  const seconds = (nanoseconds - RESOLUTION_MS * 1e6) / NANOSECONDS;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}
