import { median, round } from '../statistics.ts';

export interface Target {
  readonly name: string;
  /** Does its work over and over, until the time is up; how much was done. */
  work(isOver: () => boolean): Promise<number>;
}

export interface Rate {
  readonly per_second: number;
  /** Of this process, all its threads together. */
  readonly cpu_us: number;
}

const SLICE_MS = 1_000;

/** Slices in turn, so that whatever drifts on the machine hits all targets alike. */
export async function measureRates(
  targets: readonly Target[],
  seconds: number,
  signal: AbortSignal,
): Promise<Readonly<Record<string, Rate>>> {
  const slices = new Map(targets.map(({ name }) => [name, [] as Rate[]]));
  const rounds = Math.max(1, Math.ceil((seconds * 1000) / SLICE_MS));
  for (let turn = -1; turn < rounds; turn += 1) {
    for (const target of targets) {
      signal.throwIfAborted();
      const rate = await measure(target);
      if (turn >= 0) slices.get(target.name)?.push(rate);
    }
  }
  return Object.fromEntries(
    [...slices].map(([name, all]) => [
      name,
      {
        per_second: round(median(all.map(({ per_second }) => per_second)) ?? 0, 0),
        cpu_us: round(median(all.map(({ cpu_us }) => cpu_us)) ?? 0, 1),
      },
    ]),
  );
}

async function measure({ work }: Target): Promise<Rate> {
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const done = await work(() => performance.now() - startedAt >= SLICE_MS);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - startedAt) / 1000;
  return { per_second: done / seconds, cpu_us: (user + system) / done };
}

/** So many at once, each one after the other. */
export async function inFlight(
  count: number,
  isOver: () => boolean,
  step: () => Promise<unknown>,
): Promise<number> {
  let done = 0;
  const worker = async () => {
    while (!isOver()) {
      await step();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, worker));
  return done;
}
