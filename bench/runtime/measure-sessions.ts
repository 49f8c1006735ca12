import { Child } from '../child.ts';
import type { CommandContext } from '../command.ts';
import { ownProgram } from '../own-program.ts';
import { rotated } from '../rotated.ts';
import { LOOPS, type LoopName } from './plan.ts';

export interface SessionsOptions {
  readonly sessions: number;
  /** How long the model takes for each of its two answers. */
  readonly thinkMs: number;
  readonly rounds: number;
}

/** What `sessions-program.ts` prints. */
export interface SessionsResult {
  /** From the first question to the last answer. */
  readonly ms: number;
  readonly cpuMs: number;
  readonly finished: number;
  /** Heap per session while all of them wait for the model, and when all have ended. */
  readonly inFlightBytes: number;
  readonly afterBytes: number;
  readonly residentMegabytes: number;
  readonly failure?: string;
}

/** One result a round. */
export type MeasuredSessions = Readonly<Record<LoopName, readonly SessionsResult[]>>;

const PATIENCE_MS = 120_000;

export async function measureSessions(
  options: SessionsOptions,
  { signal, tell }: CommandContext,
): Promise<MeasuredSessions> {
  const results: Record<LoopName, SessionsResult[]> = { starloom: [], generate_text: [] };
  tell(`${options.sessions} sessions at once`);
  for (let round = 0; round < options.rounds; round += 1) {
    for (const name of rotated(LOOPS, round)) {
      results[name].push(await runOnce(name, options, signal));
    }
  }
  return results;
}

async function runOnce(
  name: LoopName,
  { sessions, thinkMs }: SessionsOptions,
  signal: AbortSignal,
): Promise<SessionsResult> {
  const args = ['--loop', name, '--sessions', String(sessions), '--think-ms', String(thinkMs)];
  const program = ownProgram('runtime/sessions-program.ts', ...args);
  await using child = await Child.start({ ...program, args: ['--expose-gc', ...program.args] });
  return (await child.receive(PATIENCE_MS, signal)) as SessionsResult;
}
