// Agents of a LangGraph server. Each assistant is a capability, each call a run on a thread; the thread
// is the conversation. An interrupt of the graph is a question, answered by resuming the thread.

import { randomUUID } from 'node:crypto';
import {
  type AgentDescription,
  type CallContext,
  type Capability,
  capabilitySchema,
  type EventBody,
  FabricError,
  type Manifest,
  toCapabilityName,
  toFields,
  withoutSent,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import type { HttpClient } from '../http-client.ts';
import { aside, requestJson, streamJson } from '../json-values.ts';
import type { OptionsOf } from '../options.ts';
import type { Profile, ProfileCall } from '../profile.ts';
import { toSources } from '../template/build-request.ts';
import { fill } from '../template/placeholders.ts';
import { answersTo, type Interrupt, interruptsIn, toPayload } from './interrupts.ts';
import { LangGraphTranslator } from './langgraph-events.ts';
import { ASK, badAnswer, headersOf, keptId, requestsOf, toInputParts } from './shared.ts';

const STREAM_MODES = ['values', 'messages-tuple', 'updates', 'custom'];
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const PAGE = 100;
const MAX_ASSISTANTS = 1_000;
const MAX_LEGS = 100;

export class LangGraphProfile implements Profile {
  readonly healthPath: string;
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #options: OptionsOf<'langgraph'>;
  #offered: readonly Capability[] | undefined;

  constructor(manifest: Manifest, client: HttpClient, options: OptionsOf<'langgraph'>) {
    this.healthPath = client.target.pathOf('/ok');
    this.#manifest = manifest;
    this.#client = client;
    this.#options = options;
  }

  call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    return new LangGraphCall(this.#client, this.#options, call).events();
  }

  async describe({ signal, log }: CallContext): Promise<AgentDescription> {
    const { capabilities, agent_id } = this.#manifest;
    if (capabilities) return { capabilities };
    const requests = { signal, log, names: { agent_id } };
    const found = new Map<string, Capability>();
    for (let offset = 0; offset < MAX_ASSISTANTS; offset += PAGE) {
      const path = this.#client.target.pathOf('/assistants/search');
      const request = { method: 'POST', path, body: { limit: PAGE, offset } } as const;
      const assistants = await requestJson(this.#client, request, requests);
      if (!Array.isArray(assistants)) throw badAnswer('it does not list its assistants');
      for (const capability of assistants.flatMap(toCapability)) {
        if (!found.has(capability.name)) found.set(capability.name, capability);
      }
      if (assistants.length < PAGE) break;
    }
    this.#offered = [...found.values()];
    return { capabilities: this.#offered };
  }

  async find(name: string, context: CallContext): Promise<Capability | undefined> {
    if (!this.#offered) await this.describe(context);
    return this.#offered?.find((capability) => capability.name === name);
  }
}

class LangGraphCall {
  readonly #client: HttpClient;
  readonly #options: OptionsOf<'langgraph'>;
  readonly #call: ProfileCall;
  readonly #threadId: string;
  #runId: string | undefined;
  #over = false;

  constructor(client: HttpClient, options: OptionsOf<'langgraph'>, call: ProfileCall) {
    const kept = keptId(call.context, 'thread_id');
    this.#client = client;
    this.#options = options;
    this.#call = call;
    this.#threadId = kept !== undefined && ID.test(kept) ? kept : randomUUID();
  }

  async *events(): AsyncGenerator<EventBody, void, undefined> {
    const { handle, responses } = this.#call.context;
    let start: object = responses
      ? { command: { resume: toResume(interruptsIn(handle), responses.map(toPayload)) } }
      : { input: this.#toInput() };
    try {
      for (let leg = 0; leg < MAX_LEGS; leg += 1) {
        const interrupts: readonly Interrupt[] = yield* this.#run(start, leg > 0);
        this.#over = true;
        if (interrupts.length === 0) return;
        const answers = await answersTo(this.#call.context, interrupts, this.#handle());
        const ids = interrupts.map(({ id }) => id);
        start = { command: { resume: toResume(ids, answers.map(toPayload)) } };
        this.#over = false;
      }
      throw failure('too_many_questions', { limit: MAX_LEGS });
    } finally {
      if (!this.#over) void this.#cancel();
    }
  }

  /** One run: its events, and what it ended to ask. */
  async *#run(
    start: object,
    isLater: boolean,
  ): AsyncGenerator<EventBody, readonly Interrupt[], undefined> {
    const translator = new LangGraphTranslator(this.#client.excerpt, this.#options.answer);
    this.#runId = undefined;
    const items = streamJson(this.#client, this.#request(start), requestsOf(this.#call));
    try {
      for await (const item of items) {
        if (item.type === 'value') yield* translator.fromEvent(item.event, item.value);
        if (ID.test(translator.runId ?? '')) this.#runId = translator.runId;
        if (item.type === 'final' && item.value !== undefined) translator.fromState(item.value);
      }
    } catch (error) {
      this.#over = FabricError.is(error) && error.isAgentAnswer;
      throw isLater ? withoutSent(error) : error;
    }
    if (translator.interrupts.length > 0) return translator.interrupts;
    const ending = [...translator.ending()];
    this.#over = true;
    this.#call.context.keep?.(this.#handle());
    yield* ending;
    return [];
  }

  #request(start: object) {
    const { capability } = this.#call;
    const { assistant, config } = this.#options;
    const body = {
      assistant_id: capability.tool ?? assistant ?? capability.name,
      ...start,
      stream_mode: STREAM_MODES,
      on_disconnect: 'cancel',
      if_not_exists: 'create',
      multitask_strategy: 'reject',
      ...(config && { config }),
    };
    const path = this.#client.target.pathOf(`/threads/${this.#threadId}/runs/stream`);
    return { method: 'POST', path, headers: headersOf(this.#call), body } as const;
  }

  #toInput(): unknown {
    const { input } = this.#options;
    if (input !== undefined) return fill(input, toSources(this.#call));
    const { text, files } = toInputParts(this.#call.envelope.input);
    const content = files.length === 0 ? text : [{ type: 'text', text }, ...files.map(toPart)];
    return { messages: [{ role: 'user', content }] };
  }

  #handle() {
    return { thread_id: this.#threadId };
  }

  /** A run that stopped when the connection closed is not there to be cancelled. */
  async #cancel(): Promise<void> {
    if (this.#runId === undefined) return;
    const below = `/threads/${this.#threadId}/runs/${this.#runId}/cancel`;
    const path = this.#client.target.pathOf(below);
    const request = { method: 'POST', path, headers: headersOf(this.#call) } as const;
    await aside(requestsOf(this.#call), 'the run was not cancelled', (context) =>
      requestJson(this.#client, request, context, { texts: true }),
    );
  }
}

/** One answer as it is; several by the ids of their interrupts. */
function toResume(ids: readonly string[], payloads: readonly unknown[]): unknown {
  if (ids.length <= 1) return payloads[0] ?? null;
  return Object.fromEntries(ids.map((id, index) => [id, payloads[index] ?? null]));
}

function toPart({
  media_type,
  data,
  uri,
}: ProfileCall['envelope']['input']['attachments'][number]) {
  const url = data === undefined ? uri : `data:${media_type};base64,${data}`;
  if (url === undefined || !media_type.startsWith('image/'))
    throw failure('attachments', { media_type: media_type.slice(0, 128) });
  return { type: 'image_url', image_url: { url } };
}

function toCapability(value: unknown): Capability[] {
  const { assistant_id, graph_id, name, description } = toFields(value);
  if (typeof assistant_id !== 'string' || !ID.test(assistant_id)) return [];
  const called = [name, graph_id].find((each) => typeof each === 'string' && each !== '');
  if (typeof called !== 'string') return [];
  const said = cleanText(description, 4_096);
  return [
    capabilitySchema.parse({
      ...ASK,
      name: toCapabilityName(called),
      tool: assistant_id,
      description: said || `Runs the assistant ${cleanText(called, 64)}`,
    }),
  ];
}
