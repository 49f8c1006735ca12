// Who runs where. The proxy under test has a core to itself, everything else shares the others: else
// the throughput of a proxy would depend on how the scheduler mixes three busy processes.

import { execFileSync } from 'node:child_process';
import type { Program } from './own-program.ts';

export interface Cores {
  readonly proxy: number;
  readonly others: readonly number[];
}

/** `undefined` where there is one core only, or no way to choose. */
export function splitCores(): Cores | undefined {
  const allowed = allowedCores();
  const proxy = allowed.at(-1);
  return proxy === undefined || allowed.length < 2
    ? undefined
    : { proxy, others: allowed.slice(0, -1) };
}

/** This process and all it starts from now on leave the proxy's core alone. */
export function leaveProxyCore({ others }: Cores): void {
  taskset('-pc', others.join(','), String(process.pid));
}

export function onProxyCore(program: Program, cores: Cores | undefined): Program {
  return cores ? onCores(program, [cores.proxy]) : program;
}

export function onOtherCores(program: Program, cores: Cores | undefined): Program {
  return cores ? onCores(program, cores.others) : program;
}

function onCores(program: Program, cores: readonly number[]): Program {
  const args = ['-c', cores.join(','), program.command, ...program.args];
  return { ...program, command: 'taskset', args };
}

function allowedCores(): number[] {
  try {
    const list = taskset('-pc', String(process.pid)).split(':').at(-1) ?? '';
    return list.trim().split(',').flatMap(toRange);
  } catch {
    return [];
  }
}

function toRange(text: string): number[] {
  const [first = 0, last = first] = text.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function taskset(...args: string[]): string {
  return execFileSync('taskset', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
