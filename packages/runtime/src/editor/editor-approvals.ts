// A tool call that needs approval is asked about in the editor. It is made before the agent, which is opened
// with it, and asks as soon as an editor has connected.

import {
  type AgentContext,
  methods,
  type PermissionOption,
  type RequestPermissionRequest,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import type { Approve } from '../core/seams.ts';
import { describeCall, type ToolView, textContent } from './to-update.ts';

const OPTIONS: readonly PermissionOption[] = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
];

export class EditorApprovals {
  #editor: { readonly client: AgentContext; readonly view: ToolView } | undefined;

  connect(client: AgentContext, view: ToolView): void {
    this.#editor = { client, view };
  }

  readonly approve: Approve = async ({ call, sessionId, signal }, _tool, { reasons }) => {
    if (!this.#editor) return false;
    const { client, view } = this.#editor;
    const { sessionUpdate: _, ...described } = describeCall(call, view);
    const content = reasons.map(textContent);
    const toolCall: ToolCallUpdate = { ...described, status: 'pending', content };
    const params: RequestPermissionRequest = { sessionId, toolCall, options: [...OPTIONS] };
    const { outcome } = await client.request(methods.client.session.requestPermission, params, {
      cancellationSignal: signal,
    });
    if (outcome.outcome !== 'selected') return false;
    return outcome.optionId === 'always' ? 'always' : outcome.optionId === 'once';
  };
}
