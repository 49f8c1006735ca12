// Who may call which tool by its name, over whatever protocol: the one policy of `expose` in agent.json.
// The model is no caller here: each of its calls is judged on its own.

import { normalName } from '@starloom/core';
import type { AgentFile } from '../config/agent-file.ts';

export type Exposure = Pick<AgentFile['mcp'], 'expose_tools' | 'private_tools'>;

/**
 * `agent`: another agent, over MCP or A2A. `editor`: the person at an editor. `operator`: the person at a
 * terminal of this machine, whose agent it is.
 */
export type ToolCaller = 'agent' | 'editor' | 'operator';

/** A name counts in every spelling: private `admin.reset` hides `admin:reset`. */
export function mayCall(exposure: Exposure, caller: ToolCaller, name: string): boolean {
  const isPrivate = isIn(exposure.private_tools, name);
  switch (caller) {
    case 'agent':
      return isIn(exposure.expose_tools, name) && !isPrivate;
    case 'editor':
      return !isPrivate;
    case 'operator':
      return true;
  }
}

export function isExposed(exposure: Exposure, name: string): boolean {
  return mayCall(exposure, 'agent', name);
}

function isIn(names: readonly string[], name: string): boolean {
  const normal = normalName(name);
  return names.some((one) => normalName(one) === normal);
}
