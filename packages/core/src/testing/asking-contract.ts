// What an adapter must do when its agent asks in the middle of a call.

import { expect, it } from 'vitest';
import { FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';
import type { AgentHandle, CallContext } from '../ports/adapter.ts';
import type { InputRequest, InputResponse } from '../questions.ts';
import type { CallResult } from '../result.ts';

type More = Partial<CallContext>;

export interface AskingSubject {
  readonly run: (
    task: string,
    signal?: AbortSignal,
    more?: More,
  ) => Promise<{ events: EventBody[]; result: CallResult | undefined }>;
  readonly failure: (task: string, signal?: AbortSignal, more?: More) => Promise<FabricError>;
  readonly waits: boolean;
}

export function askingContract({ run, failure, waits }: AskingSubject): void {
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
