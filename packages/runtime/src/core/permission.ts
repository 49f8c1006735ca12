// Which tools an origin may call at all; the arguments are judged later. Another agent may call tools that
// are exposed and not private. A tool that asks for approval needs it unless a person typed the call.

import { normalName } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ToolRequest, Verdict } from './seams.ts';

export interface Exposure {
  readonly expose_tools: readonly string[];
  readonly private_tools: readonly string[];
}

/** `undefined` when nothing speaks against it. */
export type Permission = (request: ToolRequest, tool: ITool) => Verdict | undefined;

/** A name counts in every spelling: private `admin.reset` hides `admin:reset`. */
export function isExposed({ expose_tools, private_tools }: Exposure, name: string): boolean {
  const normal = normalName(name);
  const isIn = (names: readonly string[]) => names.some((one) => normalName(one) === normal);
  return isIn(expose_tools) && !isIn(private_tools);
}

export function createPermission(exposure: Exposure): Permission {
  return ({ origin }, tool) => {
    if (origin === 'remote' && !isExposed(exposure, tool.name)) {
      const reasons = [`${tool.name} is not exposed to other agents`];
      return { decision: 'deny', rule: 'not_exposed', reasons };
    }
    if (tool.approval && origin !== 'user') {
      return {
        decision: 'ask',
        rule: 'tool_approval',
        reasons: [`${tool.name} asks for approval`],
      };
    }
    return undefined;
  };
}
