import type { AgentWorld } from './agent-world.ts';
import { type OpenTerminal, openTerminal } from './open-terminal.ts';

export { CTRL_C, ENTER } from './open-terminal.ts';
export const CTRL_D = '\x04';
export const TAB = '\t';

/** `starloom agent …` on a terminal of its own. */
export function openAgentTerminal(world: AgentWorld, ...args: string[]): OpenTerminal {
  return openTerminal(world, 'agent', ...args);
}
