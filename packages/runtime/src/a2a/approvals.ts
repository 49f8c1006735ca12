// Questions of tools and approval of their calls in a task: the task asks its caller, and waits in
// `input-required`. Created before the agent, which is opened with it. Outside a task no one is asked.

import { FabricError, type Fields, type InputRequest, orAborted } from '@starloom/core';
import type { JobRunContext } from '@starloom/jobs';
import { approvalRequest, isApproval } from '../core/permission.ts';
import type { Approve, AskCaller } from '../core/seams.ts';

/** The content of the answer; `undefined` when there is none. */
type Ask = (request: InputRequest) => Promise<Fields | undefined>;

export class TaskApprovals {
  readonly #asking = new Map<string, Ask>();

  /** While it is not disposed of, calls of this session are asked about in this task. */
  serve(sessionId: string, context: Pick<JobRunContext, 'ask' | 'signal'>): Disposable {
    let before: Promise<unknown> = Promise.resolve();
    this.#asking.set(sessionId, (request) => {
      // A task has one open question at a time.
      const answer = before.then(async () => {
        const [given] = await context.ask([request]);
        const { action, content } = given?.response ?? {};
        return action === 'accept' ? (Object(content) as Fields) : undefined;
      });
      before = answer.catch(() => {});
      return orAborted(answer, context.signal);
    });
    return { [Symbol.dispose]: () => void this.#asking.delete(sessionId) };
  }

  readonly approve: Approve = async ({ call, sessionId }, tool, verdict) => {
    const ask = this.#asking.get(sessionId);
    return ask !== undefined && isApproval(await ask(approvalRequest(call, tool, verdict)));
  };

  readonly askCaller: AskCaller = ({ sessionId }) => {
    const ask = this.#asking.get(sessionId);
    if (!ask) return undefined;
    return async (message) => {
      const answer = await ask({ id: crypto.randomUUID(), kind: 'text', message });
      if (answer === undefined) return undefined;
      return typeof answer.text === 'string' ? answer.text : JSON.stringify(answer);
    };
  };
}

/** BAD_INPUT for an answer that is none of the options. */
export function assertChoice(question: Readonly<Record<string, unknown>>, content: unknown): void {
  const { choice } = Object(content) as { choice?: unknown };
  const options = Array.isArray(question.options) ? question.options : [];
  const ids = options.map((option) => Object(option).id);
  if (ids.length === 0 || ids.includes(choice)) return;
  throw new FabricError('BAD_INPUT', 'The answer is none of the options', {
    details: { reason: 'answer', options: ids, fix: `answer with ${ids.join(' or ')}` },
  });
}
