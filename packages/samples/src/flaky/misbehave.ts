// Ways in which an agent fails, for showing what happens then. Each begins like an agent that works
// and ends as none should.

import { speak } from '../events.ts';

export const MODES = ['error', 'hang', 'die', 'garbage'] as const;

export type Mode = (typeof MODES)[number];

/** Ways in which a program can harm its parent. */
export interface Outlet {
  /** One line on stdout. */
  write(line: string): void;
  exit(code: number): void;
}

/** The first word of the task chooses, else the setting, else it dies. */
export function chooseMode(task: string, setting?: string): Mode {
  const [word = ''] = task.trim().toLowerCase().split(/\W/, 1);
  return MODES.find((mode) => mode === word) ?? MODES.find((mode) => mode === setting) ?? 'die';
}

export function misbehave(mode: Mode, { write, exit }: Outlet): void {
  for (const event of speak('I have almost got it: ')) write(JSON.stringify(event));
  switch (mode) {
    case 'error':
      write(JSON.stringify({ type: 'error', error: FAILURE }));
      return;
    case 'hang':
      return;
    case 'die':
      exit(1);
      return;
    case 'garbage':
      write('Traceback (most recent call last): it was going so well');
  }
}

const FAILURE = {
  code: 'UPSTREAM_ERROR',
  message: 'Flaky failed, as it always does',
  details: { reason: 'on_purpose', fix: 'nothing: another agent has answered already' },
};
