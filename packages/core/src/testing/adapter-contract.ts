// What every adapter must do, checked against the contract agent behind a real server of its
// protocol. A test of a new adapter is a call of `adapterContract` and the wrapping of the agent.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';
import { silentLog } from '../log.ts';
import type { Adapter, CallContext } from '../ports/adapter.ts';
import { type CallResult, ResultFold } from '../result.ts';
import {
  askingContract,
  conversationContract,
  joiningContract,
  type Misbehaviour,
  misbehavingContract,
  webhookContract,
} from './adapter-behaviours.ts';
import { exampleEnvelope } from './fakes.ts';

interface AdapterSubject {
  /** Opened on a manifest whose agent is `subject` with the capability `work`. */
  readonly adapter: Adapter;
  /** Makes the agent unreachable. */
  stopAgent(): Promise<void>;
  /** From now on calls are answered so; `undefined`: well again. See `misbehaves`. */
  misbehave?(how: Misbehaviour | undefined): void;
  /** Frees what the test made; the contract closes the adapter itself. */
  close(): Promise<void>;
}

export interface AdapterContractOptions {
  /** False for protocols that have no such event; the result must still be right. */
  readonly tokens?: boolean;
  /** False where an answer is a text and nothing else: structured data is then its JSON. */
  readonly data?: boolean;
  readonly toolCalls?: boolean;
  readonly progress?: boolean;
  /** `whole`: in one piece each. */
  readonly artifacts?: boolean | 'whole';
  /** False for protocols in which an agent cannot ask. */
  readonly asks?: boolean;
  /** Whether the agent can wait for an answer without a call of ours. */
  readonly waits?: boolean;
  /** Whether `work` takes attachments. */
  readonly attachments?: boolean;
  /** Whether the agent keeps a conversation between calls. */
  readonly conversations?: boolean;
  /** Whether a task that runs at the agent can be joined again. */
  readonly joins?: boolean;
  /** Whether an agent that works for long is given a webhook. */
  readonly webhooks?: boolean;
  /** Ways in which the test can make the agent misbehave. */
  readonly misbehaves?: readonly Misbehaviour[];
}

export function adapterContract(
  name: string,
  open: () => Promise<AdapterSubject>,
  {
    tokens = true,
    data = true,
    toolCalls = true,
    progress = true,
    artifacts = true,
    asks = false,
    waits = false,
    attachments = true,
    conversations = false,
    joins = false,
    webhooks = false,
    misbehaves = [],
  }: AdapterContractOptions = {},
): void {
  describe(`adapter contract: ${name}`, () => {
    let subject: AdapterSubject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject.adapter.close();
      await subject.close();
    });

    const run = async (
      task: string,
      signal = new AbortController().signal,
      more: Partial<CallContext> = {},
    ) => {
      const events: EventBody[] = [];
      const fold = new ResultFold();
      for await (const body of subject.adapter.call(exampleEnvelope(task), {
        signal,
        log: silentLog,
        ...more,
      })) {
        events.push(body);
        fold.add(body);
      }
      return { events, result: fold.result() };
    };
    const failure = async (task: string, signal?: AbortSignal, more: Partial<CallContext> = {}) => {
      const error = await run(task, signal, more).then(
        () => expect.fail(`"${task}" succeeded`),
        (thrown: unknown) => thrown,
      );
      if (!FabricError.is(error)) throw error;
      return error;
    };

    it('answers with exactly one final, as the last event', async () => {
      const { events, result } = await run('echo hello there');
      expect(result?.answer).toBe('hello there');
      expect(events.filter(({ type }) => type === 'final')).toHaveLength(1);
      expect(events.at(-1)?.type).toBe('final');
    });

    const dataOf = (result: CallResult | undefined): unknown =>
      data ? result?.data : JSON.parse(result?.answer ?? 'null');

    it('keeps structured data', async () => {
      const { result } = await run('data a b');
      expect(dataOf(result)).toEqual({ words: ['a', 'b'] });
    });

    it('passes tokens on in order, and the answer holds them all', async () => {
      const { events, result } = await run('stream one two three');
      expect(result?.answer).toBe('onetwothree');
      const texts = events.flatMap((event) => (event.type === 'token' ? event.data.text : []));
      if (tokens) expect(texts.join('')).toBe('onetwothree');
    });

    if (toolCalls) {
      it('passes tool calls on', async () => {
        const { result } = await run('tools needle');
        expect(result?.tool_calls).toEqual([
          { id: 'call-1', name: 'search', args: { query: 'needle' }, result: 'found' },
        ]);
      });
    }

    if (progress) {
      it('passes progress on', async () => {
        const { events } = await run('progress');
        const percent = events.flatMap((event) =>
          event.type === 'progress' ? (event.data.percent ?? []) : [],
        );
        expect(percent).toContain(50);
      });
    }

    it('carries trace, depth and chain to the agent', async () => {
      const envelope = exampleEnvelope('seen', {
        hop: { depth: 3, chain: ['a/x', 'subject/work'] },
      });
      const fold = new ResultFold();
      const context = { signal: new AbortController().signal, log: silentLog };
      for await (const body of subject.adapter.call(envelope, context)) fold.add(body);
      expect(dataOf(fold.result())).toMatchObject({
        trace_id: envelope.trace.trace_id,
        depth: 3,
        chain: ['a/x', 'subject/work'],
      });
    });

    if (artifacts) {
      it('passes artifacts on, and the result has them whole', async () => {
        const { events, result } = await run('artifact');
        const pieces = events.filter(({ type }) => type === 'artifact');
        expect(pieces).toHaveLength(artifacts === 'whole' ? 1 : 2);
        expect(result?.artifacts).toEqual([
          {
            id: expect.any(String),
            name: 'report.txt',
            media_type: 'text/plain',
            text: 'one two',
          },
        ]);
      });
    }

    it('takes attachments to the agent, or refuses them before anything is sent', async () => {
      const input = { task: 'echo kept', attachments: [{ media_type: 'text/plain', text: 'x' }] };
      const context = { signal: new AbortController().signal, log: silentLog };
      const calls = subject.adapter.call(exampleEnvelope('', { input }), context);
      const outcome = await Array.fromAsync(calls).then(
        (events) => events.at(-1),
        (thrown: unknown) => thrown,
      );
      if (attachments) expect(outcome).toMatchObject({ data: { answer: 'kept' } });
      else expect(outcome).toMatchObject({ code: 'BAD_INPUT', details: { sent: false } });
    });

    if (asks) askingContract({ run, failure, waits });
    if (conversations) conversationContract({ run });
    if (joins) joiningContract({ run, failure });
    misbehavingContract({ run, failure, misbehave: (how) => subject.misbehave?.(how) }, misbehaves);

    it('carries a large answer whole', async () => {
      const { result } = await run('big 300000');
      expect(result?.answer).toHaveLength(300_000);
    });

    it('turns a failure of the agent into UPSTREAM_ERROR and serves the next call', async () => {
      expect((await failure('fail')).code).toBe('UPSTREAM_ERROR');
      expect((await run('echo again')).result?.answer).toBe('again');
    });

    it('serves many calls at once without crossing their answers', async () => {
      const words = Array.from({ length: 20 }, (_, index) => `word-${index}`);
      const answers = await Promise.all(words.map((word) => run(`echo ${word}`)));
      expect(answers.map(({ result }) => result?.answer)).toEqual(words);
    });

    /** Resolves when the agent works on the one call that hangs. */
    const hanging = () => expect.poll(async () => (await run('hanging')).result?.answer).toBe('1');

    webhookContract({ run, failure, hanging, opens: webhooks });

    it('stops at once with the reason of the signal, and the agent is notified', async () => {
      const control = new AbortController();
      const { signal } = control;
      const stop = () => control.abort(new FabricError('TIMEOUT', 'Too slow'));
      const calls = subject.adapter.call(exampleEnvelope('hang'), { signal, log: silentLog });
      const ended = (async () => {
        for await (const { type } of calls) if (type === 'token') stop();
      })().catch((thrown: unknown) => thrown);
      if (!tokens) void hanging().then(stop);
      const error = await ended;
      expect(error).toMatchObject({ code: 'TIMEOUT' });
      await expect.poll(async () => (await run('cancelled')).result?.answer).toBe('1');
    });

    // Without events there is no place to stop at.
    if (tokens) {
      it('notifies the agent when the consumer stops reading', async () => {
        const context = { signal: new AbortController().signal, log: silentLog };
        for await (const body of subject.adapter.call(exampleEnvelope('hang'), context)) {
          if (body.type === 'token') break;
        }
        await expect.poll(async () => (await run('cancelled')).result?.answer).toBe('1');
      });
    }

    it('sends nothing when the call was cancelled before it began', async () => {
      const reason = new FabricError('CANCELLED', 'Never mind');
      expect((await failure('hang', AbortSignal.abort(reason))).code).toBe('CANCELLED');
      expect((await run('cancelled')).result?.answer).toBe('0');
    });

    it('refuses a capability the agent does not have, before sending', async () => {
      const target = { agent_id: 'subject', capability: 'missing' };
      const context = { signal: new AbortController().signal, log: silentLog };
      const calls = subject.adapter.call(exampleEnvelope('echo', { target }), context);
      const error = await Array.fromAsync(calls).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'CAPABILITY_NOT_FOUND', details: { sent: false } });
    });

    it('describes what the agent can do', async () => {
      const context = { signal: new AbortController().signal, log: silentLog };
      const { capabilities } = await subject.adapter.describe(context);
      expect(capabilities.map((capability) => capability.name)).toContain('work');
    });

    it('reports an agent that went away, before anything was sent', async () => {
      const context = { signal: new AbortController().signal, log: silentLog };
      expect((await subject.adapter.health(context)).status).toBe('online');
      await subject.stopAgent();
      expect((await subject.adapter.health(context)).status).toBe('offline');
      const error = await failure('echo gone');
      expect(error).toMatchObject({ code: 'AGENT_OFFLINE', details: { sent: false } });
    });
  });
}
