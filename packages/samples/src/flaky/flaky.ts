import type { AgentCard } from '../agent.ts';
import { percy } from '../percy/percy.ts';

/** Offers what percy does and never delivers it; what it does instead is in `misbehave.ts`. */
export const flaky: AgentCard = {
  id: 'flaky',
  capability: percy.capability,
  description:
    'Fails on purpose, so that another agent answers. The first word of the task may say how: ' +
    'error, hang, die or garbage',
  input: percy.input,
  output: percy.output,
};
