import { execFileSync } from 'node:child_process';

/** Everybody below a process, as `ps` sees it. */
export function descendantsOf(pid: number): number[] {
  const rows = processes();
  const below = (parent: number): number[] =>
    rows.filter((row) => row.parent === parent).flatMap((row) => [row.pid, ...below(row.pid)]);
  return below(pid);
}

/** Those of them that still run; zombies do not. */
export function running(pids: readonly number[]): number[] {
  return processes().flatMap(({ pid }) => (pids.includes(pid) ? [pid] : []));
}

function processes(): { pid: number; parent: number }[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' });
  return table.split('\n').flatMap((line) => {
    const [pid, parent, state = 'Z'] = line.trim().split(/\s+/);
    return state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
}
