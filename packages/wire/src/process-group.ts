// Everything that one child started: its process group, and on Linux also processes that left the group
// with setsid but still carry the mark in their environment. A process that leaves the group and also
// clears or overwrites its environment is out of reach.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay, setImmediate as yieldToEvents } from 'node:timers/promises';
import { PROCESS_MARKER } from './environment.ts';

export const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/stat');

export class ProcessGroup {
  readonly id: number;
  readonly mark: string;
  /** The agent that runs in it, if one does. */
  readonly agentId: string | undefined;

  constructor(id: number, mark: string, agentId?: string) {
    this.id = id;
    this.mark = mark;
    this.agentId = agentId;
  }

  /** False when no process is left, or none that this process may signal. */
  signal(signal: NodeJS.Signals | 0): boolean {
    return signalProcess(process.platform === 'win32' ? this.id : -this.id, signal);
  }

  /** Resolves with whether the group emptied in time. */
  async waitUntilEmpty(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    for (let pause = 5; !(await this.#isEmpty()); pause = longer(pause)) {
      if (performance.now() >= deadline) return false;
      await delay(pause);
    }
    return true;
  }

  /** Processes outside the group get no grace: they left it, and with it its signals. */
  async killEscaped(): Promise<void> {
    if (!HAS_PROC) return;
    for (let pause = 5; ; pause = longer(pause)) {
      const escaped = await findProcesses((pid) => isAlive(pid) && marksOf(pid).has(this.mark));
      const killed = escaped.filter((pid) => signalProcess(pid, 'SIGKILL'));
      if (killed.length === 0) return;
      await delay(pause);
    }
  }

  /** Zombies do not count: under an init that does not reap them they stay. */
  async #isEmpty(): Promise<boolean> {
    if (!this.signal(0)) return true;
    if (!HAS_PROC) return false;
    const members = await findProcesses((pid) => groupOf(pid) === this.id && isAlive(pid));
    return members.length === 0;
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function longer(pause: number): number {
  return Math.min(pause * 2, 100);
}

/** Reading /proc never waits, so it is done in slices of a millisecond or two, without threads. */
export async function findProcesses(matches: (pid: number) => boolean): Promise<number[]> {
  const found: number[] = [];
  for (const [index, name] of readdirSync('/proc').entries()) {
    if (index % 64 === 63) await yieldToEvents();
    const pid = Number(name);
    if (pid > 0 && matches(pid)) found.push(pid);
  }
  return found;
}

function isAlive(pid: number): boolean {
  const [state = 'X'] = statusOf(pid);
  return state !== 'Z' && state !== 'X';
}

export function groupOf(pid: number): number {
  return Number(statusOf(pid)[2]);
}

/** When a process started, in the system's own count: another one with its id started later. */
export function startOf(pid: number): string | undefined {
  return statusOf(pid)[19];
}

/** The program's name, in brackets, may itself hold brackets and blanks: start after the last. */
function statusOf(pid: number): string[] {
  const text = readProcessFile(pid, 'stat');
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

export function marksOf(pid: number): ReadonlySet<string> {
  const prefix = `${PROCESS_MARKER}=`;
  const variables = readProcessFile(pid, 'environ').split('\0');
  const marker = variables.find((variable) => variable.startsWith(prefix));
  return new Set(marker?.slice(prefix.length).split(','));
}

/** Empty when the process has ended meanwhile, or belongs to another user. */
function readProcessFile(pid: number, name: 'stat' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
