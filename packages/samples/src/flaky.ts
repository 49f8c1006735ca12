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
  timeoutMs: 2_000,
};

const MODES = ['error', 'hang', 'die', 'garbage'] as const;

export function chooseMode(task: string): (typeof MODES)[number] {
  const [word = ''] = task.trim().toLowerCase().split(/\W/, 1);
  return MODES.find((mode) => mode === word) ?? 'die';
}

const FAILURE = {
  code: 'UPSTREAM_ERROR',
  message: 'Flaky failed, as it always does',
  details: { reason: 'on_purpose', fix: 'nothing: another agent has answered already' },
};

/** Reads one call from stdin, begins like an agent that works, and fails. */
export async function failOneCall(): Promise<void> {
  const [line] = await once(createInterface({ input: process.stdin }), 'line');
  const { input } = JSON.parse(line).envelope;
  for (const event of speak('I have almost got it: ')) console.log(JSON.stringify(event));
  switch (chooseMode(input.task)) {
    case 'error':
      return console.log(JSON.stringify({ type: 'error', error: FAILURE }));
    case 'garbage':
      return console.log('Traceback (most recent call last): it was going so well');
    case 'die':
      console.error('flaky dies, as its task asks');
      process.exit(1);
  }
}
