// What the kernel says of a process, all its threads together. Only Linux tells: elsewhere the
// figures that need it are left out.

import { readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second towards programs, whatever its own clock does. */
const MICROSECONDS_PER_TICK = 10_000;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

/** CPU time used so far. */
export function cpuMicroseconds(pid: number): number | undefined {
  const text = readProcess(pid, 'stat');
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * MICROSECONDS_PER_TICK;
}

/** CPU time of its main thread alone, exact as soon as that thread has gone to sleep. */
export function mainThreadMicroseconds(pid: number): number | undefined {
  const nanoseconds = readProcess(pid, 'schedstat')?.split(' ', 1)[0];
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1000;
}

/** How long its main thread was ready to run, but other threads had the cores. */
export function mainThreadWaitMicroseconds(pid: number): number | undefined {
  const nanoseconds = readProcess(pid, 'schedstat')?.split(' ')[1];
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1000;
}

export function residentMegabytes(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readProcess(pid, 'status') ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

function readProcess(pid: number, name: 'stat' | 'status' | 'schedstat'): string | undefined {
  return readText(`/proc/${pid}/${name}`);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
