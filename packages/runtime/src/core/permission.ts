// Which tools an origin may call at all; the arguments are judged later. Another agent may call tools that
// are exposed and not private. A tool that asks for approval needs it unless a person typed the call.

import type { InputRequest } from '@starloom/core';
import type { ITool, ToolCall } from '@starloom/sdk';
import { type Exposure, mayCall } from './exposure.ts';
import type { AlwaysRule, ToolRequest, Verdict } from './seams.ts';

/** `undefined` when nothing speaks against it. */
export type Permission = (request: ToolRequest, tool: ITool) => Verdict | undefined;

export function createPermission(exposure: Exposure): Permission {
  return ({ origin, caller = 'operator' }, tool) => {
    const by = origin === 'remote' ? 'agent' : caller;
    if (origin !== 'model' && !mayCall(exposure, by, tool.name)) {
      const whom = by === 'agent' ? 'other agents' : 'editors';
      const reasons = [`${tool.name} is not exposed to ${whom}`];
      return { decision: 'deny', rule: 'not_exposed', reasons };
    }
    if (!tool.approval || origin === 'user') return undefined;
    const reasons = [`${tool.name} asks for approval`];
    return { decision: 'ask', rule: 'tool_approval', reasons };
  };
}

/** What a person who is asked should know, a line each. */
export function describeQuestion({ reasons, covers, plan = [] }: Verdict): string[] {
  const steps =
    plan.length > 0 ? ['The plan of this task:', ...plan.map((line) => `  ${line}`)] : [];
  return [...reasons, ...steps, ...(covers ? [`A yes covers ${covers}.`] : [])];
}

const MAX_SHOWN_ARGUMENTS = 2_000;
const MAX_ID = 128;
const APPROVE = 'approve';
const OPTIONS = [
  { id: APPROVE, label: 'Yes', kind: 'allow_once' },
  { id: 'reject', label: 'No', kind: 'reject_once' },
];

/** The question to a caller over MCP or A2A, whose person does not see the call otherwise. */
export function approvalRequest(
  { id, args }: Required<ToolCall>,
  { name }: ITool,
  verdict: Verdict,
): InputRequest {
  const all = JSON.stringify(args) ?? '';
  const shown = all.length > MAX_SHOWN_ARGUMENTS ? `${all.slice(0, MAX_SHOWN_ARGUMENTS)}…` : all;
  const lines = [`The agent wants to run ${name} with ${shown}`, ...describeQuestion(verdict)];
  const message = lines.join('\n');
  return { id: `approval-${id}`.slice(0, MAX_ID), kind: 'choice', message, options: OPTIONS };
}

/** Whether the content of an answer to it is a yes. */
export function isApproval(content: unknown): boolean {
  return Object(content).choice === APPROVE;
}

/** The calls that "always" would allow. */
export function describeRule({ tool, targets }: AlwaysRule): string {
  const pairs = Object.entries(targets).map(([name, values]) => `${name} ${values.join(', ')}`);
  return pairs.length > 0 ? `${tool} with ${pairs.join(' and ')}` : `${tool} without a target`;
}
