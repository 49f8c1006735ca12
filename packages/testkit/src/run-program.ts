import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessOptions, spawnProcess } from '@starloom/wire';

export interface ProgramRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, or stops it when it takes too long (then `code` is null). */
export async function runProgram(
  options: ProcessOptions,
  timeoutMs: number = 60_000,
): Promise<ProgramRun> {
  await using child = await spawnProcess(options);
  child.stdin.end();
  const timer = new AbortController();
  const timeout = delay(timeoutMs, undefined, { signal: timer.signal }).then(
    () => child.stop(),
    () => {},
  );
  try {
    const lines: string[] = [];
    for await (const line of child.lines()) lines.push(line);
    const { code } = await child.exited;
    await child.stop();
    return { code, stdout: lines.join('\n'), stderr: child.stderrTail() };
  } finally {
    timer.abort();
    await timeout;
  }
}
