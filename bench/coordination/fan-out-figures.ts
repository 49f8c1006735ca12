import { quantile, round, sum } from '../statistics.ts';
import type { Delivery } from './clients/work.ts';
import type { TargetName } from './plan.ts';
import type { Measured, MeasuredFanOut } from './run.ts';

/** From sending an update until the last subscriber has it. */
export interface LastDelivery {
  readonly updates: number;
  readonly last_delivery_p50_ms: number;
  readonly last_delivery_p99_ms: number;
}

export interface FanOutFigures extends LastDelivery {
  /** Of the updates during which nobody took the core away from the server, when they are enough. */
  readonly undisturbed?: LastDelivery;
  /** CPU time of the server per delivery. */
  readonly cpu_us?: number;
  /** CPU time of the server's main thread per update: the same whoever else uses the host. */
  readonly server_cpu?: { readonly p50_ms: number; readonly p99_ms: number };
}

/** Of fewer there is no p99. */
const ENOUGH = 100;

/** Less than this is not lost, but how exactly it can be told. */
const LOST_MS = 1;

export function toFanOutFigures({ fanOuts, sizes }: Pick<Measured, 'fanOuts' | 'sizes'>) {
  const figures: Partial<Record<TargetName, FanOutFigures>> = {};
  for (const fanOut of fanOuts) {
    const of = toFigures(fanOut, sizes.subscribers);
    if (of) figures[fanOut.name] = of;
  }
  return figures;
}

function toFigures({ results }: MeasuredFanOut, subscribers: number): FanOutFigures | undefined {
  const good = results.flatMap((tried) => ('result' in tried ? tried.result : []));
  const deliveries = good.flatMap((result) => result.deliveries);
  const last = toLastDelivery(deliveries);
  if (last === undefined) return undefined;
  const calm = deliveries.filter(isUndisturbed);
  const undisturbed = calm.length < ENOUGH ? undefined : toLastDelivery(calm);
  const server_cpu = toServerCpu(deliveries);
  const cpu = good.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  return {
    ...last,
    ...(undisturbed && { undisturbed }),
    ...(server_cpu && { server_cpu }),
    ...(cpu.length === good.length && {
      cpu_us: round(sum(cpu) / (deliveries.length * subscribers), 1),
    }),
  };
}

/**
 * From the first delivery to the last the server has nothing to wait for. What that takes longer than
 * all the CPU time it had for the update, it was kept from running, or the clients were.
 */
function isUndisturbed({ firstMs, lastMs, cpuMs }: Delivery): boolean {
  return cpuMs !== undefined && lastMs - firstMs - cpuMs < LOST_MS;
}

function toServerCpu(deliveries: readonly Delivery[]): FanOutFigures['server_cpu'] {
  const used = deliveries.flatMap(({ cpuMs }) => cpuMs ?? []);
  const [p50, p99] = [quantile(used, 0.5), quantile(used, 0.99)];
  if (p50 === undefined || p99 === undefined) return undefined;
  return { p50_ms: round(p50, 2), p99_ms: round(p99, 2) };
}

function toLastDelivery(deliveries: readonly Delivery[]): LastDelivery | undefined {
  const lasts = deliveries.map(({ lastMs }) => lastMs);
  const [p50, p99] = [quantile(lasts, 0.5), quantile(lasts, 0.99)];
  if (p50 === undefined || p99 === undefined) return undefined;
  return {
    updates: lasts.length,
    last_delivery_p50_ms: round(p50, 2),
    last_delivery_p99_ms: round(p99, 2),
  };
}
