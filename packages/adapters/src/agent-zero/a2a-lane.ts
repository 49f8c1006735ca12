// Agent Zero as an A2A agent, in the dialect of its library (A2A 0.2.5): JSON-RPC with three
// methods, no streams. A task is sent and then polled. Its card gives a wrong address, so the
// configured one is used. Two traps: a second request waits until the first task is over, and
// cancelling a task it does not know stops the agent for good.

import { randomUUID } from 'node:crypto';
import {
  type CallContext,
  type Envelope,
  type EventBody,
  exceedsDepth,
  FabricError,
  fromMeaning,
  orAborted,
  rpcMeaning,
  toFields,
  toMandateMeta,
  toMeta,
  withoutSent,
} from '@starloom/core';
import { z } from 'zod';
import type { HttpClient } from '../http/http-client.ts';
import type { JsonRequests } from '../http/json-requests.ts';
import type { ProfileCall } from '../http/profile.ts';
import { failure } from '../reasons.ts';
import { PollPace } from '../upstream/poll-pace.ts';
import { toPrompt } from '../upstream/prompt-text.ts';
import { readEvent } from '../upstream/read-event.ts';
import { type AgentZeroLane, badAnswer, ClientLane } from './lane.ts';

const CANCEL_MS = 5_000;
const CARD = '/a2a/.well-known/agent.json';

export class A2aLane extends ClientLane implements AgentZeroLane {
  async *call({ envelope, context, requests }: ProfileCall): AsyncIterable<EventBody> {
    const { signal } = context;
    let task: Task | undefined;
    try {
      task = await this.#begin(envelope, context, requests);
      const pace = new PollPace(this.options.poll_ms, signal);
      for (let state = ''; !isOver(task); task = await this.#get(task.id, requests)) {
        const hasChanged = task.status.state !== state;
        state = task.status.state;
        if (hasChanged) yield { type: 'progress', data: { message: state } };
        await pace.wait(hasChanged);
      }
      yield* fromTask(task);
    } finally {
      if (task && !isOver(task)) this.#cancel(task.id, requests);
    }
  }

  async probe(context: CallContext): Promise<void> {
    const path = this.client.target.pathOf(CARD);
    const card = toFields(await this.requests(context).json({ method: 'GET', path }));
    if (typeof card.protocolVersion !== 'string') throw badAnswer('no card');
  }

  /** When the caller leaves meanwhile, the task is cancelled as soon as its id is known. */
  async #begin(envelope: Envelope, context: CallContext, requests: JsonRequests): Promise<Task> {
    const { signal } = context;
    const control = new AbortController();
    const sending = this.#send(envelope, context, requests.until(control.signal));
    return orAborted(sending, signal).catch((error: unknown) => {
      const left = FabricError.from(error);
      if (signal.aborted) {
        const timer = setTimeout(() => control.abort(left), CANCEL_MS).unref();
        void sending
          .then((task) => this.#cancel(task.id, requests))
          .catch(() => {})
          .finally(() => clearTimeout(timer));
      }
      throw left;
    });
  }

  async #send(envelope: Envelope, context: CallContext, requests: JsonRequests): Promise<Task> {
    const { input, trace, hop } = envelope;
    const { project } = this.options;
    const files = input.attachments.map(({ uri, name, media_type }) => {
      if (uri === undefined) throw failure('attachments_unsupported/form', { takes: 'a uri' });
      return { kind: 'file', file: { uri, mimeType: media_type, ...(name && { name }) } };
    });
    const message = {
      kind: 'message',
      role: 'user',
      messageId: randomUUID(),
      parts: [{ kind: 'text', text: toPrompt(input) }, ...files],
      metadata: {
        ...toMeta(trace, hop),
        ...toMandateMeta(context),
        ...(project !== undefined && { project }),
      },
    };
    const configuration = { acceptedOutputModes: ['text/plain'], blocking: false };
    return parseTask(await this.#rpc('message/send', { message, configuration }, requests));
  }

  async #get(id: string, requests: JsonRequests): Promise<Task> {
    const found = await this.#rpc('tasks/get', { id }, requests).catch((error: unknown) => {
      throw withoutSent(error);
    });
    const task = parseTask(found);
    if (task.id === id) return task;
    throw failure('wrong_task');
  }

  /** Cancels only a task that the agent just reported as running; an unknown one would stop the agent. */
  #cancel(id: string, requests: JsonRequests): void {
    void requests.late('the task was not cancelled', async (late) => {
      const task = await this.#get(id, late);
      if (!isOver(task)) await this.#rpc('tasks/cancel', { id }, late);
    });
  }

  async #rpc(method: string, params: object, requests: JsonRequests): Promise<unknown> {
    const id = randomUUID();
    const body = { jsonrpc: '2.0', id, method, params };
    const answer = toFields(await this.post('/a2a/', body, requests));
    if (answer.error !== undefined) throw rpcFailure(answer.error, this.client);
    if (answer.id !== id || answer.result === undefined) throw badAnswer('no JSON-RPC answer');
    return answer.result;
  }
}

function rpcFailure(error: unknown, { excerpt }: HttpClient): FabricError {
  const { code, message } = toFields(error);
  const upstream = { code, message: excerpt(String(message ?? '')) };
  return fromMeaning(rpcMeaning(Number(code)), upstream);
}

const partSchema = z.looseObject({
  kind: z.string().nullish(),
  text: z.string().nullish(),
  data: z.unknown().optional(),
});

const taskSchema = z.object({
  id: z.string().min(1).max(256),
  status: z.object({
    state: z.string().min(1).max(64),
    message: z.object({ parts: z.array(partSchema) }).nullish(),
  }),
  history: z.array(z.object({ role: z.string(), parts: z.array(partSchema) })).nullish(),
  artifacts: z
    .array(
      z.object({
        artifactId: z.string().min(1).max(256),
        name: z.string().nullish(),
        parts: z.array(partSchema),
      }),
    )
    .nullish(),
});

type Task = z.infer<typeof taskSchema>;
type Part = z.infer<typeof partSchema>;

const OVER: ReadonlySet<string> = new Set([
  'completed',
  'failed',
  'canceled',
  'rejected',
  // There is no way to answer: Agent Zero never asks, and keeps no task open.
  'input-required',
  'auth-required',
]);

function parseTask(value: unknown): Task {
  const task = taskSchema.safeParse(value);
  if (task.success && !exceedsDepth(value)) return task.data;
  throw badAnswer('no task');
}

function isOver({ status }: Task): boolean {
  return OVER.has(status.state);
}

/** The events of a task that is over; throws unless it completed. */
function* fromTask(task: Task): Generator<EventBody, void, undefined> {
  const { status, history, artifacts } = task;
  if (status.state !== 'completed') throw taskFailure(task);
  for (const { artifactId, name, parts } of artifacts ?? []) {
    const text = textOf(parts);
    if (text === '') continue;
    yield readEvent('artifact', { id: artifactId, name, media_type: 'text/plain', text });
  }
  const last = history?.findLast(({ role }) => role === 'agent')?.parts ?? [];
  const parts = last.length > 0 ? last : (artifacts ?? []).flatMap((artifact) => artifact.parts);
  const data = parts.find(({ kind }) => kind === 'data')?.data;
  yield readEvent('final', { answer: textOf(parts), data });
}

/** The status has a reason only where it has a message. */
function taskFailure({ status }: Task): FabricError {
  const said = textOf(status.message?.parts ?? []).slice(0, 2_000);
  const { state } = status;
  return failure('tool_error/ended', {
    state,
    upstream: { state, ...(said !== '' && { message: said }) },
  });
}

function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('');
}
