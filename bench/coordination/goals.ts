import type { MeasuringReport } from '../command.ts';
import { round } from '../statistics.ts';
import type { FanOutFigures } from './fan-out-figures.ts';
import type { Figures, UpdateFigures } from './report.ts';

export interface Goal {
  readonly name: string;
  readonly asked: string;
  readonly measured: number;
  readonly met: boolean;
}

type Bound = { readonly least: number } | { readonly below: number };

/** What is asked for; nothing is said of what was not measured. */
export function toGoals(
  { updates, fan_out, resume }: Figures,
  ratios: MeasuringReport['ratios'],
): readonly Goal[] {
  const ratio = (cell: string) => ratios[`starloom_over_bare.${cell}`];
  return [
    toGoal('redis.lock_token ÷ bare', { least: 0.5 }, ratio('redis.lock_token')),
    toGoal('redis.with_lock ÷ bare', { least: 0.5 }, ratio('redis.with_lock')),
    toRateGoal('embedded.memory', 50_000, updates['embedded.memory']?.starloom),
    toRateGoal('embedded.durable', 10_000, updates['embedded.durable']?.starloom),
    toGoal(
      `fan-out, last delivery p99 ms, ${counted(fan_out.starloom)}`,
      { below: 20 },
      idleP99(fan_out.starloom),
    ),
    toGoal('resume, longest ms', { below: 1_000 }, resume?.most_ms),
  ].flatMap((goal) => goal ?? []);
}

/** A core is idle when all its time is ours: what counts is the CPU time, where it is known. */
function toRateGoal(cell: string, least: number, of: UpdateFigures | undefined): Goal | undefined {
  return of?.cpu_us === undefined
    ? toGoal(`${cell} updates/s`, { least }, of?.updates_per_second)
    : toGoal(`${cell} updates per second of CPU time`, { least }, round(1e6 / of.cpu_us, 0));
}

/** A machine is idle while nobody else takes its cores away; all count where that is not known. */
function idleP99(fanOut: FanOutFigures | undefined): number | undefined {
  return (fanOut?.undisturbed ?? fanOut)?.last_delivery_p99_ms;
}

function counted(fanOut: FanOutFigures | undefined): string {
  return fanOut?.undisturbed ? 'undisturbed updates' : 'all updates';
}

function toGoal(name: string, bound: Bound, measured: number | undefined): Goal | undefined {
  if (measured === undefined) return undefined;
  return 'least' in bound
    ? { name, asked: `≥ ${bound.least}`, measured, met: measured >= bound.least }
    : { name, asked: `< ${bound.below}`, measured, met: measured < bound.below };
}
