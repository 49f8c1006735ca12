// Parts of the adapter contract: what an adapter must do when its agent asks, keeps a conversation, sends
// notices to a webhook, or misbehaves.

import { expect, it } from 'vitest';
import { CLAIM_LOST, type ErrorCode, FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';
import type { AgentHandle, CallContext } from '../ports/adapter.ts';
import type { InputRequest, InputResponse } from '../questions.ts';
import type { CallResult } from '../result.ts';

type More = Partial<CallContext>;

interface Runner {
  readonly run: (
    task: string,
    signal?: AbortSignal,
    more?: More,
  ) => Promise<{ events: EventBody[]; result: CallResult | undefined }>;
  readonly failure: (task: string, signal?: AbortSignal, more?: More) => Promise<FabricError>;
}

/** When the agent asks in the middle of a call. */
export function askingContract({
  run,
  failure,
  waits,
}: Runner & { readonly waits: boolean }): void {
  /** A caller that answers with the name of each field, in capitals. */
  const answering = (action: InputResponse['action'] = 'accept') => {
    const asked: InputRequest[] = [];
    const ask: CallContext['ask'] = async (requests) => {
      asked.push(...requests);
      return requests.map(({ id, schema }) => {
        const names = Object.keys((schema?.properties as object | undefined) ?? {});
        const content = Object.fromEntries(names.map((name) => [name, name.toUpperCase()]));
        return action === 'accept' ? { id, action, content } : { id, action };
      });
    };
    return { asked, ask };
  };

  it('asks the caller, and goes on with the answer', async () => {
    const { asked, ask } = answering();
    expect((await run('ask name', undefined, { ask })).result?.answer).toBe('NAME');
    expect(asked).toMatchObject([{ kind: 'form', message: 'What is your name?' }]);
    expect(asked[0]?.schema).toMatchObject({ properties: { name: { type: 'string' } } });
  });

  it('asks several questions', async () => {
    const { asked, ask } = answering();
    expect((await run('ask name city', undefined, { ask })).result?.answer).toBe('NAME CITY');
    expect(asked.map(({ message }) => message).sort()).toEqual([
      'What is your city?',
      'What is your name?',
    ]);
  });

  it('asks after something was said', async () => {
    const { ask } = answering();
    const { events, result } = await run('say-and-ask name', undefined, { ask });
    expect(result?.answer).toBe('NAME');
    expect(events[0]?.type).not.toBe('final');
  });

  it.each(['decline', 'cancel'] as const)('brings back a %s', async (action) => {
    const { ask } = answering(action);
    expect((await run('ask name', undefined, { ask })).result?.answer).toBe(action);
  });

  it('passes on that the answer has to wait, and serves the next call', async () => {
    const ask: CallContext['ask'] = async () => {
      throw new FabricError('INPUT_REQUIRED', 'The caller is away');
    };
    expect((await failure('ask name', undefined, { ask })).code).toBe('INPUT_REQUIRED');
    expect((await run('echo next')).result?.answer).toBe('next');
  });

  it('does not hang when no caller can be asked', async () => {
    const outcome = await run('ask name').catch((error: unknown) => error);
    const refusals = ['INPUT_REQUIRED', 'BAD_INPUT'];
    if (FabricError.is(outcome)) expect(refusals).toContain(outcome.code);
    else expect(outcome).toMatchObject({ result: { answer: 'cancel' } });
  });

  it('stops while a question is open when the call is cancelled', async () => {
    const control = new AbortController();
    const reason = new FabricError('CANCELLED', 'Never mind');
    const ask: CallContext['ask'] = () =>
      new Promise((_, reject) => {
        control.signal.addEventListener('abort', () => reject(reason), { once: true });
        control.abort(reason);
      });
    expect((await failure('ask name', control.signal, { ask })).code).toBe('CANCELLED');
    expect((await run('echo next')).result?.answer).toBe('next');
  });

  if (!waits) return;

  it('goes on in a later call with the handle and the answers', async () => {
    let handle: AgentHandle | undefined;
    let asked: readonly InputRequest[] = [];
    const ask: CallContext['ask'] = async (requests, options) => {
      handle = options?.handle;
      asked = requests;
      throw new FabricError('INPUT_REQUIRED', 'Later');
    };
    await failure('ask name', undefined, { ask });
    expect(handle).toBeDefined();
    const kept = JSON.parse(JSON.stringify(handle)) as AgentHandle;
    const responses = asked.map(({ id }) => ({
      id,
      action: 'accept' as const,
      content: { name: 'Ada' },
    }));
    const { result } = await run('ask name', undefined, { handle: kept, responses });
    expect(result?.answer).toBe('Ada');
  });
}

/** When the agent keeps conversations. */
export function conversationContract({ run }: Pick<Runner, 'run'>): void {
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

export function joiningContract({ run, failure }: Runner): void {
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

interface WebhookSubject extends Runner {
  /** Resolves when the agent works on the call that hangs. */
  readonly hanging: () => Promise<unknown>;
  /** Whether a call that lasts opens one. */
  readonly opens: boolean;
}

/** A webhook belongs to its call, and ends with it. */
export function webhookContract({ run, failure, hanging, opens }: WebhookSubject): void {
  it('leaves no webhook open when a call is over or left', async () => {
    let opened = 0;
    let open = 0;
    const openWebhook: CallContext['openWebhook'] = () => {
      opened += 1;
      open += 1;
      const close = () => {
        open -= 1;
      };
      return { url: 'http://127.0.0.1:1/notices', token: 'token', [Symbol.dispose]: close };
    };
    await run('echo hello', undefined, { openWebhook });
    expect(open).toBe(0);
    const control = new AbortController();
    const left = failure('hang', control.signal, { openWebhook });
    if (opens) {
      await hanging();
      await expect.poll(() => opened).toBe(1);
    }
    control.abort(new FabricError('TIMEOUT', 'Too slow'));
    await left;
    await expect.poll(() => open).toBe(0);
  });
}

/**
 * - `garbage`: bytes that are nothing in the protocol
 * - `oversize`: an answer beyond every limit of the adapter
 * - `refused`: our credentials are not accepted
 * - `hangs`: no answer at all
 */
export type Misbehaviour = 'garbage' | 'oversize' | 'refused' | 'hangs';

interface MisbehavingSubject extends Runner {
  readonly misbehave: (how: Misbehaviour | undefined) => void;
}

const CASES: Readonly<Record<Misbehaviour, { what: string; code: ErrorCode }>> = {
  garbage: { what: 'answers with garbage', code: 'UPSTREAM_ERROR' },
  oversize: { what: 'answers with more than it may', code: 'UPSTREAM_ERROR' },
  refused: { what: 'does not accept our credentials', code: 'AUTH_DENIED' },
  hangs: { what: 'does not answer', code: 'TIMEOUT' },
};

/** A wrong answer becomes one canonical error in time, and the next call is clean. */
export function misbehavingContract(
  { run, failure, misbehave }: MisbehavingSubject,
  ways: readonly Misbehaviour[],
): void {
  for (const way of ways) {
    const { what, code } = CASES[way];
    it(`fails with ${code} when the agent ${what}, and serves the next call`, async () => {
      expect((await run('echo before')).result?.answer).toBe('before');
      misbehave(way);
      const signal = way === 'hangs' ? timeoutSoon() : undefined;
      const error = await failure('echo wrong', signal);
      expect(error.code).toBe(code);
      expect(error.isAgentAnswer).toBe(false);
      if (way === 'refused') expect(error.details.upstream).toBeDefined();
      misbehave(undefined);
      expect((await run('echo after')).result?.answer).toBe('after');
    });
  }
}

function timeoutSoon(): AbortSignal {
  const control = new AbortController();
  setTimeout(() => control.abort(new FabricError('TIMEOUT', 'Too slow')), 200).unref();
  return control.signal;
}
