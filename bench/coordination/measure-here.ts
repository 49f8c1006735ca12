import type { Slice, UpdateSlice } from './update-target.ts';

export interface Work {
  /** Each does one step after the other. */
  readonly workers: number;
  readonly updatesPerStep: number;
  /** `turn` is how many were done by all workers. Throws when an update was not done as it should. */
  readonly step: (worker: number, turn: number) => Promise<void> | void;
}

/** Work in this process, which does nothing else meanwhile. */
export async function measureHere(work: Work, { measureMs, signal }: Slice): Promise<UpdateSlice> {
  const { workers, updatesPerStep, step } = work;
  let steps = 0;
  let failure: string | undefined;
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const isOver = () =>
    failure !== undefined || signal.aborted || performance.now() - startedAt >= measureMs;
  const runWorker = async (worker: number) => {
    while (!isOver()) {
      await step(worker, steps);
      steps += 1;
    }
  };
  await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runWorker(worker).catch((error: unknown) => {
        failure ??= error instanceof Error ? error.message : String(error);
      }),
    ),
  );
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - startedAt) / 1000;
  return { updates: steps * updatesPerStep, seconds, cpuMicroseconds: user + system, failure };
}
