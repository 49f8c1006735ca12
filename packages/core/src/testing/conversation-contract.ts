// What an adapter must do whose agent keeps conversations, or runs tasks that outlive a call.

import { expect, it } from 'vitest';
import { CLAIM_LOST, FabricError } from '../errors.ts';
import type { AgentHandle, CallContext } from '../ports/adapter.ts';
import type { AskingSubject } from './asking-contract.ts';

export function conversationContract({ run }: Pick<AskingSubject, 'run'>): void {
  const speak = async (task: string, handle?: AgentHandle) => {
    let kept: AgentHandle | undefined;
    const keep: CallContext['keep'] = (given) => {
      kept = given;
    };
    const { result } = await run(task, undefined, { keep, ...(handle && { handle }) });
    // Handles are stored: what is no JSON would be lost.
    return { answer: result?.answer, kept: JSON.parse(JSON.stringify(kept ?? null)) };
  };

  it('goes on with a conversation by the handle that it kept', async () => {
    const first = await speak('remember blue');
    expect(first.kept).toBeTruthy();
    const second = await speak('recall', first.kept);
    expect(second.answer).toBe('blue');
    expect((await speak('recall', second.kept)).answer).toBe('blue');
  });

  it('begins another conversation without a handle', async () => {
    await speak('remember blue');
    expect((await speak('recall')).answer).toBe('nothing');
  });
}

export function joiningContract({ run, failure }: Pick<AskingSubject, 'run' | 'failure'>): void {
  it('joins a task that runs, and sends nothing again', async () => {
    const control = new AbortController();
    let running: AgentHandle | undefined;
    const keep: CallContext['keep'] = (handle, options) => {
      if (!options?.isRunning) return;
      running = JSON.parse(JSON.stringify(handle));
      control.abort(
        new FabricError('AGENT_OFFLINE', 'Taken over', { details: { reason: CLAIM_LOST } }),
      );
    };
    expect((await failure('slow', control.signal, { keep })).details.reason).toBe(CLAIM_LOST);
    expect(running).toBeDefined();
    if (!running) return;
    const hears = Promise.withResolvers<void>();
    const joined = run('slow', undefined, { handle: running, keep: () => hears.resolve() });
    await hears.promise;
    expect((await run('release')).result?.answer).toBe('released');
    expect((await joined).result?.answer).toBe('started 1');
    expect((await run('cancelled')).result?.answer).toBe('0');
  });
}
