// What the kernel says of a process, all its threads together. Only Linux tells: elsewhere the
// figures that need it are left out.

import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second towards programs, whatever its own clock does. */
const MICROSECONDS_PER_TICK = 10_000;
const PARENT = 1;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
/** User and system time of children that have ended. */
const CHILD_TICKS = [13, 14];
/** Of a line of all cores: what is left to programs, waiting for disks included. */
const IDLE_TICKS = [3, 4];
/** Work for devices and networks, which is charged to no program. */
const INTERRUPT_TICKS = [5, 6];
/** What the host gave to other machines. */
const STOLEN_TICKS = [7];

/** CPU time used so far. */
export function cpuMicroseconds(pid: number): number | undefined {
  const fields = statOf(pid);
  return fields && sumOf(fields, [USER_TICKS, SYSTEM_TICKS]);
}

/** CPU time of a process and of all that it started, and they, those included that have ended. */
export function treeMicroseconds(root: number): number | undefined {
  const all = new Map(allProcesses().map((pid) => [pid, statOf(pid)]));
  const isOurs = (pid: number): boolean =>
    pid === root || (pid > 1 && isOurs(Number(all.get(pid)?.[PARENT] ?? 0)));
  const ours = [...all].flatMap(([pid, fields]) => (fields && isOurs(pid) ? [fields] : []));
  if (ours.length === 0) return undefined;
  const used = [USER_TICKS, SYSTEM_TICKS, ...CHILD_TICKS];
  return ours.reduce((total, fields) => total + sumOf(fields, used), 0);
}

/** Of all cores together: how long they were busy, and how long they were there. */
export function busyMicroseconds():
  | {
      readonly busy: number;
      readonly all: number;
      readonly interrupts: number;
      readonly stolen: number;
    }
  | undefined {
  const line = readText('/proc/stat')?.split('\n', 1)[0];
  if (line === undefined) return undefined;
  // The last two columns are counted in the first two as well.
  const fields = line.trim().split(/\s+/).slice(1, 9);
  const all = sumOf(fields, [...fields.keys()]);
  const interrupts = sumOf(fields, INTERRUPT_TICKS);
  const stolen = sumOf(fields, STOLEN_TICKS);
  return { busy: all - sumOf(fields, IDLE_TICKS), all, interrupts, stolen };
}

/**
 * Returns how to read what programs that this process did not start took of the machine since now, in
 * cores: 0.5 is half of one core.
 */
export function openForeignLoad(): () => number | undefined {
  const look = () => {
    const cores = busyMicroseconds();
    const own = treeMicroseconds(process.pid);
    if (!cores || own === undefined) return undefined;
    return { at: performance.now(), foreign: cores.busy - cores.interrupts - own };
  };
  const before = look();
  return () => {
    const after = look();
    if (!before || !after) return undefined;
    return Math.max(0, (after.foreign - before.foreign) / 1000 / (after.at - before.at));
  };
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

function statOf(pid: number): readonly string[] | undefined {
  const text = readProcess(pid, 'stat');
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function sumOf(fields: readonly string[], indexes: readonly number[]): number {
  return indexes.reduce((total, at) => total + Number(fields[at]), 0) * MICROSECONDS_PER_TICK;
}

function allProcesses(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
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
