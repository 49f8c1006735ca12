// No child outlives us. A normal exit kills the registered groups at once. For every other death,
// SIGKILL included, a guardian waits: a shell in a session of its own that reads from a pipe which
// groups there are, sees the pipe end when we are gone, and ends them. Where there is no /bin/sh
// (Windows) only the exit listener is left.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { AGENT_MARK } from './environment.ts';
import { groupOf, marksOf, type ProcessGroup } from './process-group.ts';

class Reaper {
  readonly #owner = randomUUID();
  readonly #groups = new Map<string, ProcessGroup>();
  #guardian: ChildProcessByStdio<Writable, null, null> | undefined;
  #marks = 0;
  #startsLeft = process.platform === 'win32' ? 0 : 20;

  get guardianPid(): number | undefined {
    return this.#guardian?.pid;
  }

  /** Call it before a spawn: from then on a guardian runs that can learn of the new group. */
  nextMark(isAgent = false): string {
    if (this.#marks === 0) process.on('exit', () => this.#killAll());
    this.#startGuardian();
    this.#marks += 1;
    return `${this.#owner}.${randomUUID()}${isAgent ? AGENT_MARK : ''}`;
  }

  /** The agent of ours that a process with these marks runs in, the innermost one. */
  agentOfMarks(marks: Iterable<string>): string | undefined {
    const groups = Array.from(marks, (mark) => this.#groups.get(mark));
    return groups.findLast((group) => group?.agentId !== undefined)?.agentId;
  }

  /** The agent of ours that this process runs in. */
  agentOf(pid: number): string | undefined {
    const byMarks = this.agentOfMarks(marksOf(pid));
    if (byMarks !== undefined) return byMarks;
    const id = groupOf(pid);
    return this.#groups.values().find((group) => group.id === id)?.agentId;
  }

  add(group: ProcessGroup): void {
    this.#groups.set(group.mark, group);
    this.#tell(`+ ${group.id}`);
  }

  remove(group: ProcessGroup): void {
    if (this.#groups.delete(group.mark)) this.#tell(`- ${group.id}`);
  }

  #killAll(): void {
    for (const group of this.#groups.values()) group.signal('SIGKILL');
  }

  #tell(line: string): void {
    this.#guardian?.stdin.write(`${line}\n`);
  }

  /**
   * Its environment is empty: it must not carry the mark of a process that may be about to end us.
   */
  #startGuardian(): void {
    if (this.#guardian !== undefined || this.#startsLeft === 0) return;
    this.#startsLeft -= 1;
    const guardian = spawn('/bin/sh', ['-c', GUARDIAN, 'sh', this.#owner], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    guardian.once('error', () => {});
    if (guardian.pid === undefined) return;
    guardian.once('exit', () => this.#onGuardianGone());
    guardian.unref();
    guardian.stdin.on('error', () => {});
    if (guardian.stdin instanceof Socket) guardian.stdin.unref();
    this.#guardian = guardian;
    for (const group of this.#groups.values()) this.#tell(`+ ${group.id}`);
  }

  #onGuardianGone(): void {
    this.#guardian = undefined;
    if (this.#groups.size > 0) this.#startGuardian();
  }
}

export const reaper = new Reaper();

const GUARDIAN = `
trap '' HUP INT TERM
groups=' '
while read -r action group; do
  case $action in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done

signal() {
  sent=1
  for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null && sent=0; done
  return $sent
}

signal TERM
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  signal 0 || break
  sleep 0.1 || sleep 1
done
signal KILL

for environment in $(grep -lsF "$1" /proc/[0-9]*/environ); do
  process=\${environment#/proc/}
  kill -s KILL "\${process%/environ}"
done
`;
