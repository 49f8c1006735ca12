import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type AgentCard, speak } from './agent.ts';
import { percy } from './percy.ts';

/** Offers what percy does and never delivers it; it fails in one of these ways instead. */
export const flaky: AgentCard = {
  id: 'flaky',
  capability: percy.capability,
  description:
    'Fails on purpose, so that another agent answers. The first word of the task may say how: ' +
    'error, hang, die or garbage',
  input: percy.input,
  output: percy.output,
};

/** Each begins like an agent that works and ends as none should. */
export const MODES = ['error', 'hang', 'die', 'garbage'] as const;

type Mode = (typeof MODES)[number];

/** Ways in which a program can harm its parent. */
interface Outlet {
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

/** Reads one call from stdin, and fails it. */
export async function beFlaky(): Promise<void> {
  const [line] = await once(createInterface({ input: process.stdin }), 'line');
  const { input } = JSON.parse(line).envelope;
  misbehave(chooseMode(input.task, process.env.FLAKY_MODE), {
    write: (text) => process.stdout.write(`${text}\n`),
    exit: (code) => {
      console.error('flaky dies, as it was asked to');
      process.exit(code);
    },
  });
}
