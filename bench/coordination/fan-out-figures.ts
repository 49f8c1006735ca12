import { quantile, round, sum } from '../statistics.ts';
import type { TargetName } from './plan.ts';
import type { Measured, MeasuredFanOut } from './run.ts';

export interface FanOutFigures {
  readonly updates: number;
  /** From sending an update until the last subscriber has it. */
  readonly last_delivery_p50_ms: number;
  readonly last_delivery_p99_ms: number;
  /** CPU time of the server per delivery. */
  readonly cpu_us?: number;
}

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
  const deliveries = good.flatMap(({ lastDeliveriesMs }) => lastDeliveriesMs);
  const [p50, p99] = [quantile(deliveries, 0.5), quantile(deliveries, 0.99)];
  if (p50 === undefined || p99 === undefined) return undefined;
  const cpu = good.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  return {
    updates: deliveries.length,
    last_delivery_p50_ms: round(p50, 2),
    last_delivery_p99_ms: round(p99, 2),
    ...(cpu.length === good.length && {
      cpu_us: round(sum(cpu) / (deliveries.length * subscribers), 1),
    }),
  };
}
